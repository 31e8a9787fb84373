// The freezes room: when nothing may start, in an environment or in a whole organization. Scheduling holds the runs.
import type { TimeOfWeek } from '#platform/database/tables.ts'
import * as t from '#platform/http/schemas.ts'
import { WEEKDAYS } from '#platform/vocabulary.ts'

const timeOfWeek = (description: string) =>
  t.Unsafe<TimeOfWeek>({
    type: 'object',
    additionalProperties: false,
    required: ['day', 'time'],
    properties: {
      day: { type: 'string', enum: [...WEEKDAYS], description: 'The day of the week.' },
      time: {
        type: 'string',
        pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
        'x-hint': 'must be a time of day such as 16:30',
        description: 'The time of day, as clocks in `time_zone` show it: `HH:MM`.',
      },
    },
    description,
  })

const weekly = {
  type: ['object', 'null'],
  additionalProperties: false,
  required: ['from', 'to'],
  properties: {
    from: timeOfWeek('When it begins.'),
    to: timeOfWeek('When it ends: the first such time after `from`.'),
  },
  description: 'Holds every week between these times. Null for a freeze that happens once.',
}

type WeeklyTimes = { from: TimeOfWeek; to: TimeOfWeek } | null

const fields = {
  name: t.Name(255, 'The name of the freeze, for display.'),
  reason: t.Text({
    minLength: 1,
    maxLength: 2_000,
    pattern: '^[^\\x00]*$',
    'x-hint': 'must be text',
    description: 'Why nothing may start, for people whose runs wait.',
  }),
  starts_at: t.TimeOrNull('When it begins. Null with `weekly`.'),
  ends_at: t.TimeOrNull('When it ends. Null: when someone removes or changes it.'),
  weekly: t.Unsafe<WeeklyTimes>(weekly),
  time_zone: t.TextOrNull({
    maxLength: 100,
    description:
      'The time zone of `weekly`, by its IANA name, such as `Europe/Berlin`. Null without `weekly`.',
  }),
  when_over: t.Word(
    ['all', 'latest'],
    'Which held runs continue when it is over. `all`: every one. `latest`: of each deploy pipeline and branch only the newest run that a hook started; the others end as `SKIPPED_OUTDATED`. Where freezes overlap, `all` wins.',
  ),
}

const { name, reason, ...optional } = fields
export const freezeBody = t.Exactly({ name, reason, ...t.optionalFields(optional) })
export type FreezeBody = t.Static<typeof freezeBody>

/** One that a document describes. */
export const weeklyFreeze = t.Exactly({
  name,
  reason,
  weekly: t.Unsafe<NonNullable<WeeklyTimes>>({
    ...weekly,
    type: 'object',
    description: 'Holds every week between these times.',
  }),
  time_zone: t.Text({
    maxLength: 100,
    description: 'The time zone of `weekly`, by its IANA name, such as `Europe/Berlin`.',
  }),
  when_over: t.Optional(optional.when_over),
})

export const freezeChange = t.Exactly(t.optionalFields(fields))
export type FreezeChange = t.Static<typeof freezeChange>

export const freezeSchema = t.namedObject('Freeze', {
  id: t.idOf('freeze'),
  organization_id: t.idOf('organization'),
  environment_id: t.idOrNullOf('environment', 'null: it covers every environment of the organization'),
  ...fields,
  in_force: t.Flag('Whether it holds runs right now.'),
  in_force_until: t.TimeOrNull(
    'When it stops holding runs; null unless it holds some now, or without an end.',
  ),
  created_by: t.described(t.Id, 'The id of the user who created it.'),
  ...t.timestamps,
})
export type FreezeRecord = t.Static<typeof freezeSchema>

export const freezeSchemas = [freezeSchema]
