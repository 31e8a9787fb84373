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

const nameOrNull = (what: string, description: string) =>
  t.Unsafe<{ id: number; name: string } | null>({
    anyOf: [t.Exactly(nameFields(what)), { type: 'null' }],
    description,
  })

const attentionSchema = t.namedObject('NeedsAttention', {
  kind: t.Word(
    ['run_failed', 'hook_failing', 'connection_lost', 'live_unknown', 'worker_offline'] as const,
    '`run_failed`: the newest finished run of the pipeline failed, within 30 days. `hook_failing`: deliveries of the outgoing hook fail, or Gantry disabled it for that. `connection_lost`: the incoming hook is no longer connected to its repository. `live_unknown`: the live release of the server is unknown; see `GET /applications/{id}/live`. `worker_offline`: runs on the server wait, because no worker that can take them is online.',
  ),
  since: t.Time('Since when.'),
  detail: t.Text('The reason, in words.'),
  application: nameOrNull('application', 'The application; null when it is about none.'),
  server: nameOrNull('server', 'The server; null when it is about none.'),
  pipeline: nameOrNull(
    'pipeline',
    'The pipeline of the run or the hook; null for `live_unknown` and `worker_offline`.',
  ),
  action_id: t.idOrNullOf(
    'run that failed, or of the oldest that waits',
    'null for `hook_failing`, `connection_lost` and `live_unknown`',
  ),
  hook: t.Unsafe<{ id: string; name: string } | null>({
    anyOf: [
      t.Exactly({
        id: t.described(t.Uuid, 'The id of the hook.'),
        name: t.Text('The name of the hook.'),
      }),
      { type: 'null' },
    ],
    description: 'The hook; null unless `kind` is `hook_failing` or `connection_lost`.',
  }),
  environment_id: t.idOf('environment'),
})
export type NeedsAttention = t.Static<typeof attentionSchema>

const overviewCommitSchema = t.namedObject('OverviewCommit', {
  hash: t.Text('The full hash.'),
  message: t.TextOrNull('The commit message; null when unknown, and for callers without `action:view`.'),
  url: t.TextOrNull(
    'Its page at the provider; null when the provider has none, and for callers without `action:view`.',
  ),
})

const recentDeploymentSchema = t.namedObject('RecentDeployment', {
  action_id: t.idOf('action'),
  kind: t.Word(['deploy', 'redeploy', 'rollback'] as const, 'What kind of deployment it is.'),
  ...statusFields,
  activated_at: t.Time('When it last switched a server.'),
  servers: t.Count('How many servers it has switched.'),
  reverted_servers: t.Count('On how many of them Gantry reverted it.'),
  commit: t.described(t.refOrNull(overviewCommitSchema), 'The commit; null when unknown.'),
  application: t.Part('The application.', nameFields('application')),
  environment_id: t.idOf('environment'),
  url_web_permalink: permalinkField,
})
export type RecentDeployment = t.Static<typeof recentDeploymentSchema>

const cardRunSchema = t.namedObject('CardRun', {
  id: t.idOf('action'),
  ...statusFields,
  kind: t.Text('`deploy`, `redeploy` or `rollback` for deploys; the type of other runs, such as `restart`.'),
  pipeline: t.Part('The pipeline of the run.', nameFields('pipeline')),
  ...runTimes,
  created_at: t.Time('When it was created.'),
})
export type CardRun = t.Static<typeof cardRunSchema>

export const HEALTH = ['healthy', 'unhealthy', 'checking', 'unknown', 'not_configured'] as const

export const applicationCardSchema = t.namedObject('ApplicationCard', {
  ...nameFields('application'),
  environment: t.Part('The environment of the application.', {
    ...nameFields('environment'),
    type: t.Text('The stage: `development`, `staging` or `production`.'),
  }),
  project: t.Part('The project of the application.', nameFields('project')),
  organization: t.Part('The organization of the application.', nameFields('organization')),
  live: t.List(
    t.Exactly({
      commit: t.described(t.refOrNull(overviewCommitSchema), 'The commit; null when unknown.'),
      since: t.Time('When the first of the servers switched to it.'),
      servers: t.Count('How many servers serve it.'),
      action_id: t.idOrNullOf('newest action that is live there', 'null for callers without `action:view`'),
    }),
    'Each commit that is live on a linked server; the one on most servers first.',
  ),
  servers: t.Part('The servers that are linked to the application.', {
    count: t.Count('How many there are.'),
    unknown: t.Count('On how many of them the live release is unknown.'),
    nothing: t.Count('On how many of them nothing is live.'),
  }),
  drift: t.Flag('Whether its servers have different live commits, or the live release of one is unknown.'),
  health: t.Word(
    HEALTH,
    'The last health check of what is live, the worst of all servers: `unhealthy`, `checking` while one runs or is due, or `healthy`. `unknown`: a health check is set, but none has run for what is live. `not_configured`: none is set.',
  ),
  needs_attention: t.Flag(
    'Whether the newest finished run of one of its pipelines failed within 30 days, an outgoing hook of one fails, or there is drift.',
  ),
  deploy_pipeline: nameOrNull(
    'pipeline',
    'The deploy pipeline with the newest run; without runs the oldest one; null without any.',
  ),
  runs: t.List(t.ref(cardRunSchema), 'The last ten runs of all its pipelines, newest first.'),
  running: t.List(t.ref(cardRunSchema), 'Runs in progress, newest first; at most 10.'),
})
export type ApplicationCard = t.Static<typeof applicationCardSchema>

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
  needs_attention: t.Part(
    'What to look at: pipelines that fail, outgoing hooks that fail, servers whose live release is unknown, and servers whose worker is offline while runs wait.',
    {
      count: t.Count('How many there are.'),
      items: t.List(t.ref(attentionSchema), 'Latest first; at most 20.'),
    },
  ),
  recent_deployments: t.List(
    t.ref(recentDeploymentSchema),
    'Stored runs that switched a server, latest first; at most 20.',
  ),
  waiting_for_you: t.Part('Runs that you may approve, and have not.', {
    count: t.Count('How many there are; 101 means more than 100.'),
    items: t.List(t.ref(overviewRunSchema), 'Newest first; at most 20.'),
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
  overviewCommitSchema,
  recentDeploymentSchema,
  cardRunSchema,
  applicationCardSchema,
  overviewSchema,
]
