import type { HookCondition, HookVariable } from '#model/hooks/schemas.ts'
import type { CatalogField } from './schemas.ts'

// What the entries of the catalog are written with.

export const text = (name: string, path: string, required = true): HookVariable => ({
  name,
  path,
  type: 'string',
  required,
})
export const is = (path: string, ...accepted_values: unknown[]): HookCondition => ({ path, accepted_values })
export const when = (...conditions: HookCondition[]) => ({ conditions })
export const signed = (secret_header_name: string) => ({ requires_secret: true, secret_header_name })

export const branch: CatalogField = {
  name: 'branch',
  label: 'Branch',
  description: 'Pushes to this branch start the pipeline.',
  required: true,
  default_value: 'main',
  example: null,
  hidden: false,
}

/** For senders that show their own secret. */
export const secret = (where: string, example: string): CatalogField => ({
  name: 'secret',
  label: 'Secret',
  description: `${where} It can be set later; until then, calls are rejected.`,
  required: false,
  default_value: null,
  example,
  hidden: true,
})

/** One step per line. */
export const steps = (...lines: string[]) => lines.join('\n')
