import type { VariableValue } from '#model/payload/coerce.ts'
import { keysOf } from '#model/payload/conditions.ts'
import type { CompiledVariable } from '#model/payload/extract-variables.ts'
import type { HookVariable } from './schemas.ts'

export function compileVariable({
  name,
  path,
  type,
  required,
  default_value,
}: HookVariable): CompiledVariable {
  return {
    name,
    path: path ?? name,
    keys: path == null ? [name] : keysOf(path),
    type,
    required,
    defaultValue: (default_value ?? null) as VariableValue | null,
  }
}
