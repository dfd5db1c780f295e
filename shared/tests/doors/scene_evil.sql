--- evil functions: each leaves a trace, or shows what is out of reach

create function content.harm(what text) returns text volatile language plpgsql as $$
begin
    insert into private.trace (who, what) values (current_user, harm.what);
    return what;
end $$;
create function content.harm_definer(what text) returns text volatile security definer language plpgsql as $$
begin
    insert into private.trace (who, what) values (session_user, harm_definer.what);
    return what;
end $$;
create function content.harm() returns int volatile language sql as $$ select length(content.harm('nullary')) $$;
create function content.harm(value int) returns int volatile language sql as $$ select length(content.harm('int ' || value)) $$;
create function content.harm(film content.film_work) returns text volatile language sql as $$ select content.harm(film.title) $$;
create function content.harm(variadic whats text[]) returns text volatile language sql as $$ select content.harm(array_to_string(whats, ',')::text) $$;
create function content.harm_rows(n int) returns setof int volatile language sql
    as $$ select content.harm(n); select g from generate_series(1, n) g $$;
create function content.peek() returns text stable security definer language sql as $$ select secret from private.secrets $$;
create function content.peek(x int) returns text stable security definer language sql as $$ select secret from private.secrets $$;
create function content.peek_quietly(x int) returns text immutable security definer language plpgsql
    as $$ begin return (select secret from private.secrets); end $$;
create function ugc.harm(what text) returns boolean volatile language sql as $$ select content.harm(what) is not null $$;
-- harmless by its own row, but for the default of its second argument
create function content.with_default(a int, b text default content.harm('default')) returns text immutable language sql as $$ select a || b $$;
create function content.with_peeking_default(a int, b text default private.reveal()) returns text immutable language sql as $$ select a || b $$;

-- which of two is called depends on the type of what is given: a bare null is taken for text
create function content.pick(value text) returns text immutable language sql as $$ select value $$;
create function content.pick(value timestamptz) returns text volatile language sql as $$ select content.harm('pick ' || value) $$;
create function content.pick(value bigint) returns text volatile language sql as $$ select content.harm('pick ' || value) $$;
-- not volatile by its own word
create function content.liar(what text) returns text stable language plpgsql as $$ begin return content.harm(what); end $$;
create function content.liar_atomic(what text) returns text stable language sql return content.harm(what);
create function content.liar_inlined(what text) returns text stable language sql as $$ select content.harm(what) $$;
create function content.runs(sql text) returns text stable language plpgsql as $$ declare answer text; begin execute sql into answer; return answer; end $$;
create function content.settles(x int) returns int stable language sql set work_mem = '1GB' as $$ select x $$;

--- evil domains, and types that hold them

create function content.harmless_looking(value text) returns boolean volatile language sql as $$ select content.harm('domain ' || value) is not null $$;
create domain content.checked as text check (content.harmless_looking(value));
create domain content.checked_twice as content.checked;
create domain content.peeking as text check (value is distinct from content.peek());
create domain content.checked_number as int check (content.harm(value) >= 0);
-- literals of arrays and rows are read, and their domains checked, while a statement is parsed: before anyone can judge it
create domain content.leaving as text check (pg_catalog.set_config('role', 'none', false) is not null);
create domain content.checked_definer as text check (content.harm_definer(value) is not null);
create type content.has_leaving as (note content.leaving);
create type content.has_checked_definer as (note content.checked_definer);
create domain content.by_operator as text;
create domain content.named_relation as regclass;
create type content.has_checked as (note content.checked, n int);
create type content.has_checked_inside as (inner_one content.has_checked);
create type content.has_relation as (relation regclass);
create table content.checked_notes (id int primary key, note content.checked);
create type content.checked_range as range (subtype = content.checked_number);

--- evil operators, casts, aggregates

create function content.harm_pair(a text, b text) returns boolean volatile language sql as $$ select content.harm(a || b) is not null $$;
create function content.harm_one(a text) returns text volatile language sql as $$ select content.harm(a) $$;
create operator content.<!> (leftarg = text, rightarg = text, function = content.harm_pair);
create operator content.!! (rightarg = text, function = content.harm_one);
-- an operator in a domain's check
alter domain content.by_operator add check (value operator(content.<!>) 'x');
create function content.harm_strings(a text, b int) returns boolean volatile language sql as $$ select content.harm(b) > 0 $$;
create operator content.= (leftarg = text, rightarg = int, function = content.harm_strings);

create type content.code as (value text);
create function content.code_as_int(c content.code) returns int volatile language sql as $$ select length(content.harm(c.value)) $$;
create function content.code_as_text(c content.code) returns text volatile language sql as $$ select content.harm(c.value) $$;
create cast (content.code as int) with function content.code_as_int(content.code);
create cast (content.code as text) with function content.code_as_text(content.code) as implicit;
create function content.text_as_place(t text) returns content.place volatile language sql as $$ select content.harm(t), 'x' $$;
create cast (text as content.place) with function content.text_as_place(text) as assignment;
create table content.codes (id int primary key, code content.code);
insert into content.codes values (1, row('one')), (2, row('two'));
-- json functions look for a cast to json by themselves
create type content.coin as enum ('heads', 'tails');
create function content.coin_as_json(c content.coin) returns json volatile language sql
    as $$ select to_json(content.harm('coin ' || c::text)) $$;
create cast (content.coin as json) with function content.coin_as_json(content.coin);
create table content.coins (id int primary key, coin content.coin);
insert into content.coins values (1, 'heads'), (2, 'tails');

create function content.sum_step(state int, value int) returns int immutable language sql as $$ select coalesce(state, 0) + coalesce(value, 0) $$;
create function content.sum_back(state int, value int) returns int immutable language sql as $$ select coalesce(state, 0) - coalesce(value, 0) $$;
create function content.evil_step(state int, value int) returns int volatile language sql as $$ select coalesce(state, 0) + content.harm(value) $$;
create function content.evil_end(state int) returns int volatile language sql as $$ select content.harm(state) $$;
create function content.evil_combine(a int, b int) returns int volatile language sql as $$ select content.harm(a) + content.harm(b) $$;
create aggregate content.agg_step(int) (sfunc = content.evil_step, stype = int, initcond = '0');
create aggregate content.agg_end(int) (sfunc = content.sum_step, stype = int, finalfunc = content.evil_end, initcond = '0');
create aggregate content.agg_combine(int) (sfunc = content.sum_step, stype = int, combinefunc = content.evil_combine, parallel = safe);
create aggregate content.agg_moving(int) (sfunc = content.sum_step, stype = int, msfunc = content.evil_step, minvfunc = content.sum_back, mstype = int, minitcond = '0');
create aggregate content.agg_inverse(int) (sfunc = content.sum_step, stype = int, initcond = '0', msfunc = content.sum_step, minvfunc = content.evil_combine, mstype = int, minitcond = '0');
create aggregate content.agg_moving_end(int) (sfunc = content.sum_step, stype = int, msfunc = content.sum_step, minvfunc = content.sum_back, mstype = int, mfinalfunc = content.evil_end, minitcond = '0');
create aggregate content.agg_ordered(order by int) (sfunc = content.evil_step, stype = int, initcond = '0', finalfunc = content.evil_end);
create function content.harm_array(state int, variadic numbers int[]) returns int volatile language sql as $$ select content.harm(coalesce(state, 0)) $$;
create aggregate content.agg_any(variadic int[]) (sfunc = content.harm_array, stype = int);
-- honest functions, but its first state is read by the input function of an evil type
create function content.same_state(state content.has_checked, value int) returns content.has_checked immutable language sql as $$ select state $$;
create aggregate content.agg_start(int) (sfunc = content.same_state, stype = content.has_checked, initcond = '(start,1)');
create function content.definer_step(state text, value int) returns text stable security definer language sql as $$ select secret from private.secrets $$;
create aggregate content.agg_definer(int) (sfunc = content.definer_step, stype = text);
create function content.harm_less(a int, b int) returns boolean volatile language sql as $$ select content.harm(a) < content.harm(b) $$;

-- a type whose operators are honest, but its order and its hash are not: sorting calls neither < nor =
create type content.grade as (mark int);
create function content.grade_lt(a content.grade, b content.grade) returns boolean immutable language sql as $$ select (a).mark < (b).mark $$;
create function content.grade_le(a content.grade, b content.grade) returns boolean immutable language sql as $$ select (a).mark <= (b).mark $$;
create function content.grade_eq(a content.grade, b content.grade) returns boolean immutable language sql as $$ select (a).mark = (b).mark $$;
create function content.grade_ge(a content.grade, b content.grade) returns boolean immutable language sql as $$ select (a).mark >= (b).mark $$;
create function content.grade_gt(a content.grade, b content.grade) returns boolean immutable language sql as $$ select (a).mark > (b).mark $$;
create function content.grade_cmp(a content.grade, b content.grade) returns int volatile language plpgsql
    as $$ begin perform content.harm('compared'); return (a).mark - (b).mark; end $$;
create function content.grade_hash(a content.grade) returns int volatile language plpgsql
    as $$ begin perform content.harm('hashed'); return (a).mark; end $$;
create operator content.< (leftarg = content.grade, rightarg = content.grade, function = content.grade_lt, commutator = operator(content.>));
create operator content.<= (leftarg = content.grade, rightarg = content.grade, function = content.grade_le, commutator = operator(content.>=));
create operator content.= (leftarg = content.grade, rightarg = content.grade, function = content.grade_eq, commutator = operator(content.=), hashes, merges);
create operator content.>= (leftarg = content.grade, rightarg = content.grade, function = content.grade_ge, commutator = operator(content.<=));
create operator content.> (leftarg = content.grade, rightarg = content.grade, function = content.grade_gt, commutator = operator(content.<));
create operator class content.grade_order default for type content.grade using btree as
    operator 1 content.<, operator 2 content.<=, operator 3 content.=, operator 4 content.>=, operator 5 content.>,
    function 1 content.grade_cmp(content.grade, content.grade);
create operator class content.grade_hashes default for type content.grade using hash as
    operator 1 content.=, function 1 content.grade_hash(content.grade);
create table content.graded (id int primary key, grade content.grade);
insert into content.graded values (1, row(3)), (2, row(1)), (3, row(2));
create type content.grade_range as range (subtype = content.grade, subtype_opclass = content.grade_order);
-- and one whose equality is not honest: arrays and rows ask for it by themselves
create type content.token as (mark int);
create function content.token_eq(a content.token, b content.token) returns boolean volatile language plpgsql
    as $$ begin perform content.harm('equal'); return (a).mark = (b).mark; end $$;
create function content.token_lt(a content.token, b content.token) returns boolean immutable language sql as $$ select (a).mark < (b).mark $$;
create function content.token_gt(a content.token, b content.token) returns boolean immutable language sql as $$ select (a).mark > (b).mark $$;
create function content.token_cmp(a content.token, b content.token) returns int immutable language sql as $$ select (a).mark - (b).mark $$;
create operator content.= (leftarg = content.token, rightarg = content.token, function = content.token_eq, commutator = operator(content.=), negator = operator(content.<>));
create function content.token_ne(a content.token, b content.token) returns boolean volatile language sql as $$ select not content.token_eq(a, b) $$;
create operator content.<> (leftarg = content.token, rightarg = content.token, function = content.token_ne, commutator = operator(content.<>), negator = operator(content.=));
create operator content.< (leftarg = content.token, rightarg = content.token, function = content.token_lt, commutator = operator(content.>));
create operator content.> (leftarg = content.token, rightarg = content.token, function = content.token_gt, commutator = operator(content.<));
create operator class content.token_order default for type content.token using btree as
    operator 1 content.<, operator 3 content.=, operator 5 content.>, function 1 content.token_cmp(content.token, content.token);
create table content.tokens (id int primary key, token content.token);
insert into content.tokens values (1, row(3)), (2, row(1)), (3, row(2));
-- another order for numbers, which must be asked for
create function content.int_cmp(a int, b int) returns int volatile language plpgsql
    as $$ begin perform content.harm(a); return a - b; end $$;
create function content.int_lt(a int, b int) returns boolean immutable language sql as $$ select a < b $$;
create function content.int_gt(a int, b int) returns boolean immutable language sql as $$ select a > b $$;
create function content.int_eq(a int, b int) returns boolean immutable language sql as $$ select a = b $$;
create operator content.<# (leftarg = int, rightarg = int, function = content.int_lt, commutator = operator(content.>#));
create operator content.># (leftarg = int, rightarg = int, function = content.int_gt, commutator = operator(content.<#));
create operator content.=# (leftarg = int, rightarg = int, function = content.int_eq, commutator = operator(content.=#));
create operator class content.int_order for type int using btree as
    operator 1 content.<#, operator 3 content.=#, operator 5 content.>#, function 1 content.int_cmp(int, int);
create operator content.<& (leftarg = int, rightarg = int, function = content.harm_less);
create operator content.=& (leftarg = int, rightarg = int, function = content.int_eq);
create operator class content.int_harm_order for type int using btree as
    operator 1 content.<&, operator 3 content.=&, function 1 btint4cmp(int, int);

--- evil views, each of which vitrina_query may read

create view content.locking as select id, title from content.film_work for update;
create view content.genre_names_locked as select name as title from content.genre for share;
create view content.locking_inside as select f.id, (select l.title from (select title from content.genre_names_locked) l limit 1) as genre from content.film_work f;
create view content.settings as select name, setting from pg_catalog.pg_settings;
create view content.roles as select rolname::text as name from pg_catalog.pg_roles;
create view content.secrets as select id, secret from private.secrets;
create view content.secrets_nested as select s.id, upper(s.secret) as secret from content.secrets s;
create view ugc.secrets_nested_twice as select n.id from content.film_work f left join content.secrets_nested n on true;
create view content.secrets_in_where as select id, title from content.film_work where exists (select from private.secrets where secret like 'C%');
create view content.marts as select id, secret from analytics.canary;
create view content.pipelines as select * from etl.etl_pipelines;
create view content.harming as select id, content.harm(title) as title from content.film_work;
create view content.harming_nested as select h.title from content.harming h;
create view content.sleeping as select id, pg_catalog.pg_sleep(0.001)::text as nap from content.genre;
create view content.attribute as select (('select to_tsvector(''a'')'::text).ts_stat).word;
create view content.casting as select id, title::content.checked as title from content.film_work;
create view content.summing as select content.agg_step(score) as total from ugc.ratings;
create view content.operating as select id, title operator(content.<!>) 'x' as odd from content.film_work;
create view content.naming as select id, tableoid::regclass::text as relation from content.film_work;
create view content.peeking_view as select content.peek() as secret;

--- relations of content that lead out of it without naming it

create table content.inherited (id int, note text);
create table private.heir (secret text) inherits (content.inherited);
insert into private.heir values (1, 'CANARY-private', 'CANARY-private');
create table content.split (id int, note text) partition by list (id);
create table private.split_one partition of content.split for values in (1);
insert into content.split values (1, 'CANARY-private');
create table content.policed (id int primary key, title text);
insert into content.policed values (1, 'a'), (2, 'b');
alter table content.policed enable row level security;
create policy everyone on content.policed for select using (content.harm(title) is not null);

--- extensions, or stand-ins where the server has none

do $$
begin
    create extension if not exists tablefunc schema content;
exception when others then
    create function content.crosstab(sql text) returns setof record volatile language plpgsql
        as 'begin return query execute sql; end';
    create function content.connectby(a text, b text, c text, d text, e int) returns setof record volatile language plpgsql
        as 'begin return query execute a; end';
end $$;
do $$
begin
    create extension if not exists xml2 schema content;
exception when others then
    create function content.xpath_table(a text, b text, c text, d text, e text) returns setof record volatile language plpgsql
        as 'begin return query execute c; end';
end $$;
do $$
begin
    create extension if not exists dblink schema content;
exception when others then
    create function content.dblink(a text, b text) returns setof record volatile language plpgsql
        as 'begin return query execute b; end';
end $$;
do $$
begin
    create extension if not exists tsm_system_rows schema content;
exception when others then null;
end $$;
do $$
begin
    create extension if not exists file_fdw schema private;
    create server files foreign data wrapper file_fdw;
    execute $f$ create foreign table content.passwords (line text) server files options (filename '/etc/passwd', delimiter E'\x01') $f$;
exception when others then
    create view content.passwords as select 'root:x:0:0' || secret as line from private.secrets;
end $$;

--- types of another schema: one that a source table has, and others

create type public.verdict as enum ('good', 'bad');
create type public.secret_verdict as enum ('guilty');
create table public.staff (id int, salary int);
create domain public.labelled as text check (value is not null);
create table content.reviews (id int primary key, verdict public.verdict not null);
insert into content.reviews values (1, 'good'), (2, 'bad');

--- what grants.sql would give now

grant usage on schema content, ugc to vitrina_query;
grant select on all tables in schema content, ugc to vitrina_query;
alter default privileges in schema content grant select on tables to vitrina_query;
alter default privileges in schema ugc grant select on tables to vitrina_query;
grant usage on schema analytics to vitrina_mart;
grant select, insert, update, delete on all tables in schema analytics to vitrina_mart;
analyze;
truncate private.trace;
