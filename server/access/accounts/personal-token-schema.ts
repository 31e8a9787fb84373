import { TOKEN_SCOPES, type TokenScope } from '#access/authorization/token-limits.ts'
import * as t from '#platform/http/schemas.ts'

const listOrNull = <Item>(items: object, description: string) =>
  t.Unsafe<Item[] | null>({
    type: ['array', 'null'],
    items,
    minItems: 1,
    maxItems: 100,
    uniqueItems: true,
    description,
  })

const limits = {
  scopes: listOrNull<TokenScope>(
    { type: 'string', enum: [...TOKEN_SCOPES] },
    'What the token may be used for; null: everything except `approve`, which has to be named. Each scope stands alone: `manage` includes none of the others.',
  ),
  organization_ids: listOrNull<number>(
    t.Id,
    'Restricts the token to these organizations; null: no restriction.',
  ),
  project_ids: listOrNull<number>(
    t.Id,
    'Restricts the token to these projects; null: no restriction. Each must belong to one of `organization_ids`, if given.',
  ),
}

export const personalToken = {
  id: t.idOf('token'),
  name: t.Text('Its name, for you to recognize it by.'),
  ...limits,
  expires_at: t.TimeOrNull('Null: it does not expire.'),
  last_used_at: t.TimeOrNull('Accurate to a minute; null: never used.'),
  last_used_ip: t.TextOrNull('The network address of the use at `last_used_at`.'),
  created_at: t.Time('When it was created.'),
}

/** The response that shows the token itself. */
export const issuedPersonalToken = {
  ...personalToken,
  token: t.Text('Shown only once.'),
}

export const personalTokenInput = t.Exactly({
  name: t.Name(60, 'A name to recognize it by.'),
  ...t.optionalFields({
    ...limits,
    expires_at: t.TimeOrNull('When it stops working, in the future. Null or absent: it does not expire.'),
  }),
})
