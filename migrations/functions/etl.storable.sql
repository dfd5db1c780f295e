-- A `json` may contain what no `jsonb` can hold: \u0000, half of a surrogate pair, a number that is too large. Such a row
-- must not prevent its own letter, and so its whole batch, from being written.
create or replace function etl.storable(doc text) returns jsonb
    language plpgsql
    immutable
    set search_path = pg_catalog, pg_temp
as $$
declare
    -- An escape becomes the text that it is: \u0000 → \\u0000. An even number of backslashes before it is text already.
    mended constant text := regexp_replace(
        doc, '(?<!\\)((?:\\\\)*)\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\1\\\\u\2', 'g');
begin
    return doc::jsonb;
exception
    when data_exception then
        begin
            return mended::jsonb;
        exception
            when data_exception then
                -- What is left are numbers with more digits than there are.
                return (
                    select jsonb_object_agg(e.key, case
                        when length(e.value::text) < 100000 and e.value::text !~ '[eE][+-]?[0-9]{4}' then e.value::jsonb
                        else to_jsonb(e.value::text)
                    end)
                    from json_each(mended::json) e
                );
        end;
end
$$;

comment on function etl.storable is 'A row as jsonb; what no jsonb can hold is the text that it is';
