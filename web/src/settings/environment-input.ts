// What the form of an environment holds, and what it sends. Pure.
import { type components, ENVIRONMENT_TYPES } from '#client/index.ts'
import type { EnvironmentRecord } from '../api/types.ts'
import { type RetentionValues, retentionBody, retentionValues } from './retention-input.ts'

type Body = components['schemas']['CreateEnvironmentRequest']
export type EnvironmentValues = { type: Body['type']; name: string; description: string } & RetentionValues

/** The name follows the stage until the person writes one. */
export function withType(before: EnvironmentValues, type: Body['type']): EnvironmentValues {
  const isUnnamed = before.name.trim() === '' || before.name === ENVIRONMENT_TYPES[before.type]
  return { ...before, type, name: isUnnamed ? ENVIRONMENT_TYPES[type] : before.name }
}

export function environmentValues({
  type,
  name,
  description,
  retention,
}: EnvironmentRecord): EnvironmentValues {
  return { type, name, description: description ?? '', ...retentionValues(retention) }
}

export function environmentBody({ type, name, description, ...limits }: EnvironmentValues): Body {
  return {
    type,
    name: name.trim(),
    description: description.trim() || null,
    retention: retentionBody(limits),
  }
}
