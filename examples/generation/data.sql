-- A shop that sells generated pictures for credits: accounts, requests of several items, and what became of the credits.
-- Harmless to repeat.

create schema if not exists shop;

create table if not exists shop.account (
    name      text           primary key,
    deposited numeric(12, 2) not null,
    balance   numeric(12, 2) not null,
    constraint account_has_enough_credits check (balance >= 0)
);

create table if not exists shop.request (
    id         uuid        primary key default gen_random_uuid(),
    account    text        not null references shop.account (name),
    key        text        not null,
    items      integer     not null check (items between 1 and 1000),
    repeats    uuid        references shop.request (id),
    created_at timestamptz not null default now(),
    unique (account, key)
);

create table if not exists shop.item (
    id         uuid           primary key default gen_random_uuid(),
    request_id uuid           not null references shop.request (id),
    position   integer        not null,
    prompt     text           not null,
    price      numeric(12, 2) not null,
    state      text           not null default 'reserved' check (state in ('reserved', 'charged', 'refunded')),
    created_at timestamptz    not null default now(),
    unique (request_id, position)
);
create index if not exists item_created_at_idx on shop.item (created_at, id);

-- Every movement of credits. An item is reserved once, and then either charged or refunded, once.
create table if not exists shop.ledger (
    item_id uuid           not null references shop.item (id),
    kind    text           not null check (kind in ('reserved', 'charged', 'refunded')),
    amount  numeric(12, 2) not null,
    at      timestamptz    not null default now(),
    primary key (item_id, kind)
);
create unique index if not exists ledger_settled_once on shop.ledger (item_id) where kind <> 'reserved';

-- What customers are told. One for a request, whatever happens.
create table if not exists shop.notification (
    request_id uuid        primary key references shop.request (id),
    text       text        not null,
    at         timestamptz not null default now()
);

create or replace view shop.balance_sheet as
select reserved, charged, refunded, reserved - charged - refunded as open,
       (select sum(deposited - balance) from shop.account) = reserved - refunded as accounts_agree
from (
    select coalesce(sum(amount) filter (where kind = 'reserved'), 0) as reserved,
           coalesce(sum(amount) filter (where kind = 'charged'), 0) as charged,
           coalesce(sum(amount) filter (where kind = 'refunded'), 0) as refunded
    from shop.ledger
) as sums;

insert into shop.account (name, deposited, balance) values ('ada', 20, 20), ('bob', 5, 5) on conflict do nothing;

create table if not exists analytics.picture (
    item_id    uuid primary key,
    request_id uuid not null,
    prompt     text not null,
    url        text not null
);
