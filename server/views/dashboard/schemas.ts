import {
  permalinkField,
  resourceTypeFields,
  runTimes,
  statusFields,
  typeFields,
} from '#model/actions/summary-schemas.ts'
import { hookHealthSchema } from '#model/hooks/health.ts'
import * as t from '#platform/http/schemas.ts'

const Day = t.Text({ format: 'date', description: 'The day, in UTC.' })
const nameFields = (what: string) => ({
  id: t.idOf(what),
  name: t.Text(`The name of the ${what}.`),
})
const withName = (what: string) => t.Part(`The ${what} of the run.`, nameFields(what))

const overviewRunSchema = t.namedObject('OverviewRun', {
  id: t.idOf('action'),
  ...statusFields,
  ...typeFields,
  deployment_type: t.TextOrNull('`deploy`, `redeploy` or `rollback`; null for other types.'),
  resource_id: t.described(t.Id, 'The id of the application or server that it runs on.'),
  resource_name: t.Text('The name of the application or server.'),
  ...resourceTypeFields,
  pipeline: withName('pipeline'),
  environment: t.Part('The environment of the run.', {
    ...nameFields('environment'),
    type: t.Text('The stage: `development`, `staging` or `production`.'),
  }),
  project: withName('project'),
  organization: withName('organization'),
  trigger_type: t.Text('What started it: `hook`, `manual`, `retry` or `pipeline`.'),
  trigger_name: t.TextOrNull('The name of the hook or user that started it; null without one.'),
  url_web_permalink: permalinkField,
  ...runTimes,
  created_at: t.Time('When it was created.'),
})
export type OverviewRun = t.Static<typeof overviewRunSchema>

const failingHookSchema = t.namedObject('FailingHook', {
  hook_id: t.described(t.Uuid, 'The id of the hook.'),
  name: t.Text('The name of the hook.'),
  pipeline_id: t.idOf('pipeline'),
  environment_id: t.idOf('environment'),
  failing_since: t.TimeOrNull('When its deliveries began to fail; null when they do not.'),
  failures_in_a_row: t.Count('How many attempts failed in a row.'),
  open_until: t.TimeOrNull('Nothing is sent before this time; null when deliveries are not paused.'),
  disabled_at: t.TimeOrNull('When Gantry disabled it because deliveries failed; null otherwise.'),
  disabled_reason: t.TextOrNull('Why Gantry disabled it; null otherwise.'),
  health: t.described(t.ref(hookHealthSchema), 'The same as in the hook.'),
})
export type FailingHook = t.Static<typeof failingHookSchema>

const failedNotificationSchema = t.namedObject('FailedNotification', {
  hook_id: t.described(t.Uuid, 'The id of the outgoing hook.'),
  hook_name: t.Text('The name of the outgoing hook.'),
  action_id: t.idOf('action'),
  last_request_id: t.described(t.Uuid, 'The id of the last attempt, for `GET /hook-requests/{id}`.'),
  last_error: t.TextOrNull('Why the last attempt failed; null when that is not on record.'),
  failed_at: t.TimeOrNull('When it was last tried; null when that is not on record.'),
})
export type FailedNotification = t.Static<typeof failedNotificationSchema>

const overviewDeliveriesSchema = t.namedObject('OverviewDeliveries', {
  failing: t.List(
    t.ref(failingHookSchema),
    'Outgoing hooks whose receivers fail, or that were disabled for it; at most 50.',
  ),
  pending: t.Count('Pending deliveries; 10000 means 10000 or more.'),
  failed_last_day: t.Count('Deliveries that failed permanently within 24 hours; 10000 means 10000 or more.'),
  failed: t.List(
    t.ref(failedNotificationSchema),
    'Deliveries that failed permanently within 24 hours, latest first; at most 20. More about them: `GET /actions/{id}/notifications`.',
  ),
})
export type OverviewDeliveries = t.Static<typeof overviewDeliveriesSchema>

const attentionSchema = t.namedObject('NeedsAttention', {
  kind: t.Word(
    ['live_unknown'] as const,
    '`live_unknown`: the live release of the server is unknown; see `GET /applications/{id}/live`.',
  ),
  since: t.Time('Since when.'),
  detail: t.Text('The reason, in words.'),
  application: t.Part('The application.', nameFields('application')),
  server: t.Part('The server.', nameFields('server')),
  environment_id: t.idOf('environment'),
})
export type NeedsAttention = t.Static<typeof attentionSchema>

const queueDepth = t.Exactly({
  job: t.Text('The name of the job.'),
  ready: t.Count('Jobs that wait for a worker.'),
  deferred: t.Count('Jobs that are due later.'),
  active: t.Count('Jobs that run.'),
  dead: t.Count('Jobs that failed permanently.'),
})

export const overviewSchema = t.namedObject('Overview', {
  counts: t.Part('How many runs there are of each kind: the lists below are shortened.', {
    running: t.Count('Runs in progress; 10000 means 10000 or more.'),
    waiting: t.Count('Runs that have not started: pending, queued or waiting; 10000 means 10000 or more.'),
    failed_last_day: t.Count(
      'Runs that failed within 24 hours, except canceled ones and those that a later run of the same pipeline fixed; 10000 means 10000 or more.',
    ),
    canceled_last_day: t.Count('Runs that were canceled within 24 hours; 10000 means 10000 or more.'),
  }),
  running: t.List(t.ref(overviewRunSchema), 'In progress, newest first; at most 50.'),
  waiting: t.List(
    t.ref(overviewRunSchema),
    'Pending, queued or waiting, oldest first, with the reason in their status; at most 50.',
  ),
  failures: t.List(
    t.ref(overviewRunSchema),
    'Failed within 24 hours, neither canceled nor fixed by a later run of the same pipeline, latest failure first; at most 20.',
  ),
  runs_per_day: t.List(
    t.Exactly({
      date: Day,
      completed: t.Count('Runs that completed.'),
      failed: t.Count('Runs that failed, except canceled ones.'),
      skipped: t.Count('Runs that were skipped.'),
    }),
    'By the day on which they ended; the last 30 days, today last.',
  ),
  median_duration_seconds_per_day: t.List(
    t.Exactly({
      date: Day,
      seconds: t.Unsafe<number | null>({
        type: ['number', 'null'],
        description: 'The median duration, in seconds; null without a completed run.',
      }),
    }),
    'Of completed runs, for the same days, accurate to about 1 %; null without one.',
  ),
  deliveries: t.described(t.ref(overviewDeliveriesSchema), 'The state of notifications.'),
  needs_attention: t.Part('What to look at, besides failed runs and deliveries.', {
    count: t.Count('How many there are.'),
    items: t.List(t.ref(attentionSchema), 'Latest first; at most 20.'),
  }),
  workers: t.Part('The processes that run jobs.', {
    alive: t.Count('Workers online in the entire installation.'),
  }),
  queue: t.Part('The state of the queue.', {
    depths: t.List(queueDepth, 'Jobs of the entire installation, by name.'),
  }),
})
export type Overview = t.Static<typeof overviewSchema>

export const dashboardSchemas = [
  overviewRunSchema,
  failingHookSchema,
  failedNotificationSchema,
  overviewDeliveriesSchema,
  attentionSchema,
  overviewSchema,
]
