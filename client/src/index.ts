export type { components, operations, paths } from './api-types.ts'
export { GantryError, UnreachableError } from './errors.ts'
export { type Call, createGantry, type Data, type Gantry, type GantryOptions } from './gantry.ts'
