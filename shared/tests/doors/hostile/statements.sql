--- row locks
-- lock-update: lock
select id from content.film_work for update
-- lock-no-key-update: lock
select id from content.film_work for no key update
-- lock-share: lock
select id from content.film_work for share
-- lock-key-share: lock
select id from content.film_work for key share
-- lock-skip: lock
select id from content.film_work for update skip locked
-- lock-nowait: lock
select id from content.film_work for share nowait
-- lock-of: lock
select f.id from content.film_work f join content.genre g on true for update of f
-- lock-two: lock
select f.id from content.film_work f join content.genre g on true for update of f for share of g
-- lock-before-limit: lock
select id from content.film_work for update limit 1
-- lock-comment: lock
select id from content.film_work for/* x */update
-- lock-upper: lock
select id from content.film_work FOR KEY SHARE
-- lock-parens: lock
(select id from content.film_work for update)
-- lock-subquery: lock
select id from (select id from content.film_work for update) q
-- lock-subquery-alias-named-lock: lock
select id from (select id from content.film_work for update) as update
-- lock-lateral: lock
select q.id from content.genre g, lateral (select id from content.film_work for key share) q
-- lock-scalar: lock
select (select id from content.film_work limit 1 for update)
-- lock-exists: lock
select 1 as one where exists (select from content.film_work for share)
-- lock-in: lock
select id from content.genre where id in (select genre_id from content.genre_film_work for update)
-- lock-array: lock
select array(select id from content.film_work for update)
-- lock-cte: lock
with t as (select id from content.film_work for update) select * from t
-- lock-cte-unused: lock
with t as (select id from content.film_work for update) select 1 as one
-- lock-cte-nested: lock
with t as (with u as (select id from content.film_work for share) select * from u) select * from t
-- lock-pushed-into-subquery: lock
select q.id from (select id from content.film_work) q for update
-- lock-pushed-into-view: lock
select id from content.movies for share
-- lock-of-partitioned: lock
select id from content.showing for update

--- not one select
-- stmt-two: statement
select 1; select 2
-- stmt-two-harm: statement
select 1 as one; delete from content.genre
-- stmt-commit: statement
select 1 as one; commit; drop table content.genre
-- stmt-leading-semicolon: statement
; select 1 as one; select 2
-- stmt-semicolon-after-comment: statement
select 1 as one /* ; */ ; /* */ select 2
-- stmt-after-string: statement
select ';' as a; select ';' as b
-- stmt-after-dollar: statement
select $a$;$a$ as a; rollback
-- stmt-newlines: statement
select 1 as one
;

select 2 as two
-- stmt-set-role: statement
select 1 as one; set role none
-- stmt-insert: statement
insert into content.genre (name) values ('x')
-- stmt-insert-returning: statement
insert into content.genre (name) values ('x') returning id
-- stmt-update: statement
update content.genre set name = 'x' returning id
-- stmt-delete: statement
delete from content.genre returning id
-- stmt-merge: statement
merge into content.genre g using content.person p on false when matched then do nothing
-- stmt-truncate: statement
truncate content.genre
-- stmt-with-insert: statement
with x as (select 1) insert into content.genre (name) select 'x' returning id
-- stmt-with-delete: statement
with x as (select 1) delete from content.genre returning id
-- stmt-with-update: statement
with x as (select 1) update content.genre set name = 'x' returning id
-- stmt-cte-insert: statement
with x as (insert into content.genre (name) values ('x') returning id) select id from x
-- stmt-cte-update: statement
with x as (update content.genre set name = name returning id) select id from x
-- stmt-cte-delete: statement
with x as (delete from content.genre returning id) select id from x
-- stmt-cte-delete-no-returning: statement
with x as (delete from content.genre) select 1 as one
-- stmt-cte-delete-unused: statement
with x as (delete from content.genre returning id) select 1 as one
-- stmt-cte-delete-materialized: statement
with x as materialized (delete from content.genre returning id) select id from x
-- stmt-cte-second: statement
with a as (select 1 as one), b as (update ugc.ratings set score = 1 returning id) select a.one from a
-- stmt-cte-recursive-delete: statement
with recursive x as (delete from content.genre returning id) select id from x
-- stmt-cte-nested-delete: statement
with a as (with b as (delete from content.genre returning id) select id from b) select id from a
-- stmt-select-into: statement
select id into content.copy from content.film_work
-- stmt-select-into-temp: statement
select id into temp copy from content.film_work
-- stmt-select-into-unlogged: statement
select id into unlogged table content.copy from content.film_work
-- stmt-select-into-pg-temp: statement
select 1 as one into pg_temp.copy
-- stmt-with-into: statement
with a as (select 1 as one) select one into temp b from a
-- stmt-union-into: statement
select id into temp copy from content.film_work union all select id from content.genre
-- stmt-create-table-as: statement
create table content.copy as select id from content.film_work
-- stmt-create-view: statement
create view content.another as select 1 as one
-- stmt-create-function: statement
create function etl_page.execute(x text) returns void language sql as $$ select 1 $$
-- stmt-explain: statement
explain analyze select content.harm('x')
-- stmt-copy: statement
copy content.film_work to stdout
-- stmt-copy-program: statement
copy (select 1) to program 'true'
-- stmt-do: statement
do $$ begin perform content.harm('x'); end $$
-- stmt-call: statement
call content.harm('x')
-- stmt-set: statement
set search_path = private
-- stmt-set-local-role: statement
set local role none
-- stmt-reset: statement
reset role
-- stmt-reset-all: statement
reset all
-- stmt-discard: statement
discard all
-- stmt-show: statement
show search_path
-- stmt-begin: statement
begin
-- stmt-savepoint: statement
savepoint a
-- stmt-listen: statement
listen vitrina_events
-- stmt-notify: statement
notify vitrina_events, 'x'
-- stmt-lock: statement
lock table content.film_work in exclusive mode
-- stmt-prepare: statement
prepare p as select 1
-- stmt-execute: statement
execute p
-- stmt-declare: statement
declare c cursor for select 1
-- stmt-fetch: statement
fetch all from c
-- stmt-close: statement
close all
-- stmt-vacuum: statement
vacuum content.film_work
-- stmt-analyze: statement
analyze content.film_work
-- stmt-refresh: statement
refresh materialized view content.genre_counts
-- stmt-grant: statement
grant all on schema private to public
-- stmt-alter-role: statement
alter role vitrina_query superuser
-- stmt-load: statement
load 'auto_explain'
-- stmt-checkpoint: statement
checkpoint
-- stmt-security-label: statement
comment on table content.film_work is 'x'
-- stmt-drop: statement
drop table content.film_work
-- stmt-view-column-list-escape: statement
select 1 as one) with check option; drop table content.genre; --
-- stmt-closes-parenthesis: statement
select 1 as one) t; delete from content.genre; select * from (select 1 as one
-- stmt-closes-parenthesis-union: statement
select 1 as one) union all (select 2
-- stmt-with-data: statement
select 1 as one with no data
-- stmt-check-option: statement
select id from content.film_work with local check option
-- stmt-empty-comment: statement
/* nothing */ ;
