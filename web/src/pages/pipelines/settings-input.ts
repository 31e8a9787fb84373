// The values of a pipeline's settings, and the request body they become. Pure.
import type { Pipeline } from '#web/base/api/types.ts'
import {
  type HealthValues,
  healthBody,
  healthField,
  healthValues,
} from '#web/resources/pipelines/health-check-input.ts'
import { type ChecksValues, checksBody, checksField, checksValues } from './checks-input.ts'

export type SettingsValues = HealthValues &
  ChecksValues & {
    name: string
    operation: Pipeline['operation']
    max_parallel_actions: number | string
    queue_policy: Pipeline['queue_policy']
    on_failure: Pipeline['on_failure']
    rollout: 'all' | 'batches'
    /** A number of servers, or a percentage. */
    batch: string
    max_failed: number | string
    rollout_on_failure: 'stop' | 'revert_all'
    /** Ids, as the select has them. */
    run_after: string[]
  }

export const QUEUE_POLICIES = {
  queue: 'Queue',
  latest: 'Queue, skip older hook runs',
  reject: 'Reject',
} as const

export const ON_FAILURE = {
  revert: 'Revert to the previous release',
  keep: 'Keep the new release',
} as const

export const ROLLOUT_ON_FAILURE = {
  stop: 'Stop: servers that are done keep the new release',
  revert_all: 'Revert all servers',
} as const

export function valuesOfPipeline(pipeline: Pipeline): SettingsValues {
  const { name, operation, max_parallel_actions, queue_policy, rollout, run_after } = pipeline
  return {
    name,
    operation,
    max_parallel_actions,
    queue_policy,
    on_failure: pipeline.on_failure,
    rollout: rollout === null ? 'all' : 'batches',
    batch: String(rollout?.batch ?? 1),
    max_failed: rollout?.max_failed ?? 0,
    rollout_on_failure: rollout?.on_failure ?? 'stop',
    ...healthValues(pipeline.health_check),
    ...checksValues(pipeline.wait_for_checks),
    run_after: run_after.map(String),
  }
}

export function bodyOfSettings(values: SettingsValues) {
  const { name, operation, queue_policy, on_failure, run_after } = values
  return {
    name: name.trim(),
    operation,
    max_parallel_actions: Number(values.max_parallel_actions),
    queue_policy,
    on_failure,
    rollout:
      values.rollout === 'all'
        ? null
        : {
            batch: parseBatch(values.batch),
            max_failed: Number(values.max_failed),
            on_failure: on_failure === 'keep' ? 'stop' : values.rollout_on_failure,
          },
    health_check: operation === 'deploy' ? healthBody(values) : null,
    wait_for_checks: operation === 'deploy' ? checksBody(values) : null,
    run_after: run_after.map(Number),
  }
}

/** `2` is a number of servers, `25%` a share of them. What is neither goes to the API, which says so. */
function parseBatch(text: string): number | string {
  const trimmed = text.trim()
  return /^\d+$/.test(trimmed) ? Number(trimmed) : trimmed.replace(/\s+%$/, '%')
}

export function checkSettings(values: SettingsValues) {
  const number = (value: number | string) => (value === '' ? 'Enter a number.' : undefined)
  return {
    max_parallel_actions: number(values.max_parallel_actions),
    max_failed: values.rollout === 'batches' ? number(values.max_failed) : undefined,
    check_timeout: values.waits_for_checks ? number(values.check_timeout) : undefined,
    check_settle: values.waits_for_checks ? number(values.check_settle) : undefined,
  }
}

/** The input that shows the API's error for a field. */
export function settingsField(field: string): keyof SettingsValues | undefined {
  if (field === 'rollout.max_failed') return 'max_failed'
  if (field === 'rollout.on_failure') return 'rollout_on_failure'
  return field.startsWith('rollout') ? 'batch' : (checksField(field) ?? healthField(field))
}

/** `Batches of 25%, at most 2 may fail`. */
export function rolloutText(rollout: Pipeline['rollout']): string {
  if (rollout === null) return 'All servers at the same time'
  const { batch, max_failed, on_failure } = rollout
  const size = typeof batch === 'string' ? batch : batch === 1 ? '1 server' : `${batch} servers`
  const limit = max_failed === 0 ? 'stops at the first failure' : `at most ${max_failed} may fail`
  return `Batches of ${size}, ${limit}${on_failure === 'revert_all' ? ', then reverts all servers' : ''}`
}
