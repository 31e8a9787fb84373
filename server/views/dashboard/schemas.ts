import { type Static, Type } from 'typebox'
import {
  permalinkField,
  resourceTypeFields,
  runTimes,
  statusFields,
  typeFields,
} from '#model/actions/summary-schemas.ts'
import { hookHealthSchema } from '#model/hooks/health.ts'
import {
  described,
  Exactly,
  Id,
  idOf,
  namedObject,
  ref,
  TextOrNull,
  Timestamp,
  TimestampOrNull,
  Uuid,
  Word,
} from '#platform/http/schemas.ts'

const Count = (description: string) => Type.Integer({ minimum: 0, description })
const Day = Type.String({ format: 'date', description: 'The day, in UTC.' })
const nameFields = (what: string) => ({
  id: idOf(what),
  name: Type.String({ description: `The name of the ${what}.` }),
})
const withName = (what: string) => Exactly(nameFields(what), { description: `The ${what} of the run.` })

const overviewRunSchema = namedObject('OverviewRun', {
  id: idOf('action'),
  ...statusFields,
  ...typeFields,
  resource_id: described(Id, 'The id of the application or server that it runs on.'),
  resource_name: Type.String({ description: 'The name of the application or server.' }),
  ...resourceTypeFields,
  pipeline: withName('pipeline'),
  environment: Exactly(
    {
      ...nameFields('environment'),
      type: Type.String({ description: 'The stage: `development`, `staging` or `production`.' }),
    },
    { description: 'The environment of the run.' },
  ),
  project: withName('project'),
  organization: withName('organization'),
  trigger_type: Type.String({ description: 'What started it: `hook`, `manual`, `retry` or `pipeline`.' }),
  trigger_name: TextOrNull({
    description: 'The name of the hook or user that started it; null without one.',
  }),
  url_web_permalink: permalinkField,
  ...runTimes,
  created_at: described(Timestamp, 'When it was created.'),
})
export type OverviewRun = Static<typeof overviewRunSchema>

const failingHookSchema = namedObject('FailingHook', {
  hook_id: described(Uuid, 'The id of the hook.'),
  name: Type.String({ description: 'The name of the hook.' }),
  pipeline_id: idOf('pipeline'),
  environment_id: idOf('environment'),
  failing_since: described(TimestampOrNull, 'When its deliveries began to fail; null when they do not.'),
  failures_in_a_row: Count('How many attempts failed in a row.'),
  open_until: TextOrNull({
    format: 'date-time',
    description: 'Nothing is sent before this time; null when deliveries are not paused.',
  }),
  disabled_at: described(
    TimestampOrNull,
    'When Gantry disabled it because deliveries failed; null otherwise.',
  ),
  disabled_reason: TextOrNull({ description: 'Why Gantry disabled it; null otherwise.' }),
  health: described(ref(hookHealthSchema), 'The same as in the hook.'),
})
export type FailingHook = Static<typeof failingHookSchema>

const failedNotificationSchema = namedObject('FailedNotification', {
  hook_id: described(Uuid, 'The id of the outgoing hook.'),
  hook_name: Type.String({ description: 'The name of the outgoing hook.' }),
  action_id: idOf('action'),
  last_request_id: described(Uuid, 'The id of the last attempt, for `GET /hook-requests/{id}`.'),
  last_error: TextOrNull({ description: 'Why the last attempt failed; null when that is not on record.' }),
  failed_at: described(TimestampOrNull, 'When it was last tried; null when that is not on record.'),
})
export type FailedNotification = Static<typeof failedNotificationSchema>

const overviewDeliveriesSchema = namedObject('OverviewDeliveries', {
  failing: Type.Array(ref(failingHookSchema), {
    description: 'Outgoing hooks whose receivers fail, or that were disabled for it; at most 50.',
  }),
  pending: Count('Pending deliveries; 10000 means 10000 or more.'),
  failed_last_day: Count('Deliveries that failed for good within 24 hours; 10000 means 10000 or more.'),
  failed: Type.Array(ref(failedNotificationSchema), {
    description:
      'Deliveries that failed for good within 24 hours, latest first; at most 20. More about them: `GET /actions/{id}/notifications`.',
  }),
})
export type OverviewDeliveries = Static<typeof overviewDeliveriesSchema>

const attentionSchema = namedObject('NeedsAttention', {
  kind: Word(['live_unknown'] as const, {
    description: '`live_unknown`: what the server serves is not known; see `GET /applications/{id}/live`.',
  }),
  since: described(Timestamp, 'Since when.'),
  detail: Type.String({ description: 'The reason, in words.' }),
  application: Exactly(nameFields('application'), { description: 'The application.' }),
  server: Exactly(nameFields('server'), { description: 'The server.' }),
  environment_id: idOf('environment'),
})
export type NeedsAttention = Static<typeof attentionSchema>

const queueDepth = Exactly({
  job: Type.String({ description: 'The name of the job.' }),
  ready: Count('Jobs that wait for a worker.'),
  deferred: Count('Jobs that are due later.'),
  active: Count('Jobs that run.'),
  dead: Count('Jobs that failed for good.'),
})

export const overviewSchema = namedObject('Overview', {
  counts: Exactly(
    {
      running: Count('Runs in progress; 10000 means 10000 or more.'),
      waiting: Count('Runs that have not started: pending, queued or waiting; 10000 means 10000 or more.'),
      failed_last_day: Count('Runs that failed within 24 hours; 10000 means 10000 or more.'),
    },
    { description: 'How many runs there are of each kind: the lists below are shortened.' },
  ),
  running: Type.Array(ref(overviewRunSchema), { description: 'In progress, newest first; at most 50.' }),
  waiting: Type.Array(ref(overviewRunSchema), {
    description: 'Pending, queued or waiting, oldest first, with the reason in their status; at most 50.',
  }),
  failures: Type.Array(ref(overviewRunSchema), {
    description: 'Failed within 24 hours, latest failure first; at most 20.',
  }),
  runs_per_day: Type.Array(
    Exactly({
      date: Day,
      completed: Count('Runs that completed.'),
      failed: Count('Runs that failed.'),
      skipped: Count('Runs that were skipped.'),
    }),
    {
      description: 'By the day on which they ended; the last 30 days, today last.',
    },
  ),
  median_duration_seconds_per_day: Type.Array(
    Exactly({
      date: Day,
      seconds: Type.Unsafe<number | null>({
        type: ['number', 'null'],
        description: 'The median duration, in seconds; null without a completed run.',
      }),
    }),
    { description: 'Of completed runs, for the same days, accurate to about 1 %; null without one.' },
  ),
  deliveries: described(ref(overviewDeliveriesSchema), 'The state of notifications.'),
  needs_attention: Exactly(
    {
      count: Count('How many there are.'),
      items: Type.Array(ref(attentionSchema), { description: 'Latest first; at most 20.' }),
    },
    { description: 'What to look at, besides failed runs and deliveries.' },
  ),
  workers: Exactly(
    { alive: Count('Workers online in the entire installation.') },
    { description: 'The processes that run jobs.' },
  ),
  queue: Exactly(
    { depths: Type.Array(queueDepth, { description: 'Jobs of the entire installation, by name.' }) },
    { description: 'The state of the queue.' },
  ),
})
export type Overview = Static<typeof overviewSchema>

export const dashboardSchemas = [
  overviewRunSchema,
  failingHookSchema,
  failedNotificationSchema,
  overviewDeliveriesSchema,
  attentionSchema,
  overviewSchema,
]
