--- text that two readers read differently: hidden calls and relations
-- lex-nested-comment: function
select /* /* */ ' */ content.harm('x') -- '
-- lex-nested-comment-deep: function
select /*/*/*/ */*/*/ content.harm('x')
-- lex-comment-in-operator: function
select 1 +-- x
content.harm(1)
-- lex-comment-slash-star-operator: function
select 4 */* x */ content.harm(2)
-- lex-minus-minus: function
select 1 --1
 , content.harm('x')
-- lex-escape-string: function
select E'\'', content.harm('x'), E'\'' as z
-- lex-escape-string-quotes: function
select E'a\\', content.harm('x'), '\' as z
-- lex-plain-backslash: function
select '\', content.harm('x'), '\' as z
-- lex-continued-string: function
select 'a'
'b', content.harm('x')
-- lex-continued-escape: function
select E'a'
'\'', content.harm('x'), E'\'' as z
-- lex-continued-comment: function
select 'a' -- x
'b', content.harm('x')
-- lex-dollar: function
select $$ ' $$, content.harm('x'), $$ ' $$ as z
-- lex-dollar-tag: function
select $a$ $b$ $$ $a$, content.harm('x'), $b$ $a$ $b$ as z
-- lex-dollar-unicode-tag: function
select $é$ $ $é$, content.harm('x'), $é$ ' $é$ as z
-- lex-dollar-after-name: function
select a$b, content.harm('x') from (select 1 as a$b) q
-- lex-dollar-after-name-twice: function
select a$$, content.harm($$x$$) from (select 1 as a$$) q
-- lex-dollar-empty: function
select $$$$, content.harm('x'), $_$$$$_$ as z
-- lex-unicode-string: function
select U&'\0027', content.harm('x'), U&'\0027' as z
-- lex-unicode-string-uescape: function
select U&'!0027' uescape '!', content.harm('x')
-- lex-national-string: function
select N'x', content.harm('x')
-- lex-bit-string: function
select B'01' as a, X'1F' as b, content.harm('x') as z
-- lex-quoted-name: function
select 1 as "a'", content.harm('x') as "b'"
-- lex-quoted-name-quotes: function
select 1 as "a""", content.harm('x') as """"
-- lex-quoted-name-comment: function
select 1 as "/*", content.harm('x') as "*/"
-- lex-quoted-name-dashes: function
select 1 as "--", content.harm('x')
-- lex-backtick-operator: function
select 1 as "`", content.harm('x') as "` "
-- lex-carriage-return: function
select 1 -- comment<CR>, content.harm('x')
-- lex-form-feed: function
select<FF>content.harm('x')
-- lex-vertical-tab: function
select content.harm<TAB>('x')
-- lex-nbsp-name: function
select 1 as a<NBSP>b, content.harm('x')
-- lex-nbsp-alone: function
select 1 as one, content.harm('x') as<NBSP>
-- lex-ideographic-space: function
select 1 <IDSP>, content.harm('x')
-- lex-zero-width: function
select 1 as a<ZWSP>, content.harm('x')
-- lex-bom-name: function
select 1 as a<BOM>, content.harm('x')
-- lex-line-separator-in-comment: function
select 1 -- x <LSEP> y
, content.harm('x')
-- lex-next-line-in-comment: function
select 1 as one -- x <NEL> as two
, content.harm('x')
-- lex-colon-colon: function
select '1'::int::text, content.harm('x')
-- lex-array-colon: function
select (array[1,2])[1:2], content.harm('x')
-- lex-colon-equals: function
select * from content.with_default(a := 1)
-- lex-type-function: function
select interval '1' day, content.harm('x')
-- lex-relation-after-string: relation
select '\' as a, secret as b, '\' as c from private.secrets
-- lex-relation-after-comment: relation
select /* /* */ from content.film_work */ * from private.secrets
-- lex-relation-after-dollar: relation
select $x$ from content.film_work $x$ as a, s.secret from private.secrets s
-- lex-relation-in-nested-comment-end: relation
select 1 as one /* */ from private.secrets /* /* */ */
-- lex-relation-carriage-return: relation
select secret --<CR>from private.secrets
-- lex-lock-after-comment: lock
select id from content.film_work --<CR>for update
-- lex-lock-in-escape: lock
select E'\'' as a from content.film_work for update -- '
-- lex-semicolon-after-escape: statement
select E'\''; select '1' as b; select E'\''
-- lex-semicolon-after-backslash: statement
select '\'; delete from content.genre; select '\'
-- lex-semicolon-after-dollar: statement
select $a$ $b$; $a$; delete from content.genre; select $b$ $b$
-- lex-semicolon-after-nested: statement
select 1 /* /* */ */ ; delete from content.genre /* */
-- lex-alias-like-tree: function
select 1 as ":funcid", content.harm('x') as ":funcid 0"
-- lex-alias-like-node: function
select 1 as "}", 2 as "{QUERY", 3 as "<>", 4 as "({", 5 as "\", content.harm('x') as ")})"
-- lex-alias-like-relation: relation
select 1 as ":relid", s.secret as "<>" from private.secrets as ":relid" (id, secret), lateral (select ":relid".*) as s
-- lex-alias-like-locks: lock
select 1 as ":rowMarks <>" from content.film_work as ":hasForUpdate false" for update
-- lex-alias-quotes-in-tree: function
select 1 as "("")", 2 as """(", content.harm('x') as "a"" :b"
-- lex-alias-brackets-in-tree: function
select 1 as "[ 1 2 ]", 2 as "(o 1)", content.harm('x') as "(b 1"
-- lex-alias-newline-in-tree: function
select 1 as "a
:funcid 0 }", content.harm('x') as "{"
-- lex-cte-like-tree: function
with ":utilityStmt <>" (":commandType 1") as (select content.harm('x')) select * from ":utilityStmt <>"

--- text that cannot be read
-- syn-unfinished-string: syntax
select 'abc
-- syn-unfinished-escape: syntax
select E'abc\'
-- syn-unfinished-comment: syntax
select 1 as one /* /* */
-- syn-unfinished-dollar: syntax
select $a$ abc $A$
-- syn-unfinished-name: syntax
select 1 as "abc
-- syn-parenthesis: syntax
select (1 as one
-- syn-bracket: syntax
select array[1 as one
-- syn-number-name: syntax
select 1e, content.harm('x')
-- syn-brace: syntax
select {1} as one
-- syn-nul: syntax
select 1 as one<NUL>, content.harm('x')
-- syn-nbsp-between: syntax
select<NBSP>1 as one
-- syn-bom: syntax
<BOM>select 1 as one
-- syn-smart-quote: syntax
select ‘a’ as one
-- syn-backslash: syntax
select 1 \ 2
-- syn-psql-command: syntax
select 1 as one \gexec
-- syn-psql-variable: syntax
select :'limit' as one
-- syn-psql-identifier: syntax
select :"limit" as one
-- syn-unknown-placeholder: syntax
select id from content.film_work where id > :last
-- syn-spaced-placeholder: syntax
select id from content.film_work limit : limit
-- syn-numbered-parameter: syntax
select $1 as one
-- syn-numbered-parameter-cast: syntax
select id from content.film_work where id = $2::uuid
-- syn-numbered-parameter-large: syntax
select $65536::int as one
-- syn-placeholder-as-name: syntax
select 1 as :limit
-- syn-placeholder-as-relation: syntax
select * from :upper
-- syn-placeholder-as-schema: syntax
select * from :upper.film_work
-- syn-placeholder-as-type: syntax
select 1::int:limit
-- syn-question-mark: syntax
select ? as one
-- syn-at-parameter: syntax
select @limit as one from content.film_work
-- syn-backtick: syntax
select `id` from content.film_work
-- syn-limit-comma: syntax
select id from content.film_work limit 1, 2
-- syn-empty-from: syntax
select id from
-- syn-unicode-bad-escape: syntax
select U&'\00zz' as one
-- syn-unicode-surrogate: syntax
select U&'\D800' as one
-- syn-unicode-nul: syntax
select U&'\0000' as one
-- syn-uescape-bad: syntax
select U&'!0041' uescape '+' as one
-- syn-operator-left-over: syntax
select 1 + as one
