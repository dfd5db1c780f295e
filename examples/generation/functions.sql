-- What the shop does. The first two are called by customers, the last two by Vitrina. Harmless to repeat.

-- Orders n pictures: the request, its items and the credits reserved for them, in one transaction or not at all. The same key
-- of the same account is the same request.
create or replace function shop.request_generation(
    account text, n integer, key text, prompts text[] default array['a red fox'], repeats uuid default null
) returns uuid language plpgsql as $$
#variable_conflict use_variable
declare
    made uuid;
    known record;
begin
    insert into shop.request (account, key, items, repeats) values (account, key, n, repeats)
    on conflict on constraint request_account_key_key do nothing
    returning id into made;
    if made is null then
        select r.id, r.items into known from shop.request r where r.account = account and r.key = key;
        if known.items <> n then
            raise 'the key % belongs to a request of % items', key, known.items;
        end if;
        return known.id;
    end if;
    with item as (
        insert into shop.item (request_id, position, prompt, price)
        select made, place, prompts[1 + (place - 1) % cardinality(prompts)], 0.35
        from generate_series(1, n) as place
        returning id, price
    ), reserved as (
        insert into shop.ledger (item_id, kind, amount) select id, 'reserved', price from item returning amount
    )
    update shop.account a set balance = a.balance - (select sum(amount) from reserved) where a.name = account;
    return made;
end $$;

-- Orders what an earlier request has ordered.
create or replace function shop.again(request uuid, key text) returns uuid language sql as $$
    select shop.request_generation(
        r.account, r.items, again.key, array(select i.prompt from shop.item i where i.request_id = r.id order by i.position), r.id
    )
    from shop.request r
    where r.id = again.request
$$;

-- Tells customers of the requests among these that have no item under way any more.
create or replace function shop.notify_of(requests uuid[]) returns void language plpgsql as $$
begin
    -- Of two transactions that end the last items of one request, the second one sees what the first one did.
    perform from shop.request where id = any (requests) order by id for update;
    insert into shop.notification (request_id, text)
    select request_id, format('%s of %s pictures are ready', count(*) filter (where state = 'charged'), count(*))
    from shop.item
    where request_id = any (requests)
    group by request_id
    having count(*) filter (where state = 'reserved') = 0
    on conflict do nothing;
end $$;

-- Any operator may name our hooks in any pipeline, with rows of another query: they move money for one pipeline alone.
create or replace function shop.refuse_other_pipelines(event jsonb) returns void language plpgsql as $$
begin
    if event ->> 'pipeline' is distinct from 'generation' then
        raise 'the pipeline % may not charge or refund', event ->> 'pipeline';
    end if;
end $$;

-- Hook after_batch: charges the items whose pictures this batch has written.
create or replace function shop.settle(event jsonb) returns void language plpgsql security definer set search_path = '' as $$
declare
    requests uuid[];
begin
    perform shop.refuse_other_pipelines(event);
    with charged as (
        update shop.item i set state = 'charged'
        from analytics.picture p
        where p.item_id = i.id and i.state = 'reserved'
        returning i.id, i.request_id, i.price
    ), noted as (
        insert into shop.ledger (item_id, kind, amount) select id, 'charged', price from charged
    )
    select array_agg(distinct request_id) into requests from charged;
    perform shop.notify_of(requests);
end $$;

-- Hook on_row_rejected: gives back what was reserved for an item that failed for good.
create or replace function shop.refund(event jsonb) returns void language plpgsql security definer set search_path = '' as $$
declare
    item record;
begin
    perform shop.refuse_other_pipelines(event);
    update shop.item set state = 'refunded'
    where id = (event -> 'row' ->> 'item_id')::uuid and state = 'reserved'
    returning id, request_id, price into item;
    if item.id is null then
        return;
    end if;
    insert into shop.ledger (item_id, kind, amount) values (item.id, 'refunded', item.price);
    update shop.account a set balance = a.balance + item.price
    from shop.request r
    where r.id = item.request_id and a.name = r.account;
    perform shop.notify_of(array[item.request_id]);
end $$;

-- They have their owner's rights, so nobody but Vitrina calls them: `vitrina hooks allow` grants it that.
revoke execute on function shop.settle, shop.refund from public;
