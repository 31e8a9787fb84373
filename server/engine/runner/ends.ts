import type { State } from '#model/actions/status.ts'

// How targets and steps end.

export const COMPLETED: State = { status: 'completed', reason: 'COMPLETED' }
export const FAILED: State = { status: 'failed', reason: 'FAILED' }
export const CANCELLED: State = { status: 'failed', reason: 'FAILED_CANCELLED' }
export const WORKER_LOST: State = { status: 'failed', reason: 'FAILED_WORKER_LOST' }
