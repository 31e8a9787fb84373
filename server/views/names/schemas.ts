// The names views: one index of everything that has a name, so that people can say `shop/production/web` instead of
// an id.
import * as t from '#platform/http/schemas.ts'

/** Parents before children. Items with the same path are listed in this order. */
export const NAMED_TYPES = [
  'organization',
  'project',
  'environment',
  'application',
  'server',
  'pipeline',
  'incoming_hook',
  'outgoing_hook',
  'credential',
] as const
export type NamedType = (typeof NAMED_TYPES)[number]

const idOrNull = (description: string) =>
  t.IntegerOrNull({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description })

export const nameEntrySchema = t.namedObject('NameEntry', {
  type: t.Word(NAMED_TYPES, 'What it is.'),
  id: t.Unsafe<number | string>({
    type: ['integer', 'string'],
    description: 'Its id: an integer, or a UUID for hooks.',
  }),
  name: t.Text('Its name as people wrote it.'),
  path: t.Text(
    'The slugs of project, environment, application or server, pipeline and hook, down to this one, joined by `/`: `shop/production/web/deploy`. Organizations and credentials have their own slug only. A name without letters and digits, and one that you may not see, is replaced by type and id: `project-7`. Not unique.',
  ),
  organization: t.Part('The organization that it belongs to; an organization itself.', {
    id: t.idOf('organization'),
    name: t.Text('The name of the organization.'),
  }),
  project_id: idOrNull('The project that it belongs to, or is. Null for organizations and credentials.'),
  environment_id: idOrNull('The environment that it belongs to, or is. Null above environments.'),
  resource_type: t.TextOrNull({
    enum: ['application', 'server', null],
    description: 'What a pipeline runs on, also for its hooks. Null for everything else.',
  }),
  resource_id: idOrNull('The application or server that a pipeline runs on. Null where `resource_type` is.'),
  pipeline_id: idOrNull('The pipeline of a hook. Null for everything else.'),
  archived: t.Flag('Whether its environment is archived: nothing runs there until it is unarchived.'),
})
export type NameEntry = t.Static<typeof nameEntrySchema>

export const nameSchemas = [nameEntrySchema]
