export type { components, operations, paths } from './api-types.ts'
export { entrySteps, expandEntry } from './catalog.ts'
export { GantryError, UnreachableError } from './errors.ts'
export { createFetch } from './fetch.ts'
export {
  type Call,
  createGantry,
  type Data,
  type Gantry,
  type GantryOptions,
  type GetInit,
  type GetPath,
  type InitParam,
  type Item,
  type Page,
  type Versioned,
} from './gantry.ts'
export { ENVIRONMENT_TYPES, OPERATIONS, STATUSES } from './labels.ts'
export { describeGap, type LogGap, markGaps } from './log-gaps.ts'
export { closest, distance } from './nearest.ts'
export { type Reach, reachOf, reachProblem } from './reach.ts'
export type { StreamOptions } from './resume.ts'
export { hasEnded } from './status.ts'
export type { ActionEvent, ActionsEvent, ActionsFilter, DeliveryEvent } from './streams.ts'
export {
  type Delivered,
  VerificationError,
  type VerificationProblem,
  type VerifyDeliveryInput,
  verifyDelivery,
} from './verify-delivery.ts'
export type { WaitOptions } from './wait.ts'
export { whatChanged } from './what-changed.ts'
