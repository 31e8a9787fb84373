import { Type } from 'typebox'

/** The query parameter `filter[name]` of lists. */
export const nameFilter = {
  'filter[name]': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      // The one character that PostgreSQL's text cannot contain.
      pattern: '^[^\\u0000]*$',
      'x-hint': 'must be text',
      description: 'Part of the name; case-insensitive.',
    }),
  ),
}
