import { loadSteps, presentStep } from '#model/pipelines/load-steps.ts'
import type { PipelineStep } from '#model/pipelines/schemas.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Extent, Page } from '#platform/http/pagination.ts'

/** What a step is, with its order, depends on its neighbours: it is presented as soon as it is found. */
export type FoundStep = { step: PipelineStep; row_version: string }

/** In the order in which they run. With `name`: only those that have it in their name, in capitals or not. */
export async function listSteps(
  db: Database,
  pipelineId: number,
  name: string | undefined,
  { limit, offset }: Page,
): Promise<{ rows: FoundStep[]; extent: Extent }> {
  const part = (name ?? '').toLowerCase()
  const steps = (await findSteps(db, pipelineId)).filter(({ step }) => step.name.toLowerCase().includes(part))
  const rows = steps.slice(offset, offset + limit)
  const hasMore = rows.length > 0 && offset + rows.length < steps.length
  return { rows, extent: { total: steps.length, hasMore } }
}

export async function findStep(db: Database, pipelineId: number, id: number): Promise<FoundStep | undefined> {
  return (await findSteps(db, pipelineId)).find(({ step }) => step.id === id)
}

async function findSteps(db: Database, pipelineId: number): Promise<FoundStep[]> {
  const rows = await loadSteps(db, [pipelineId])
  return rows.map((row, index) => ({ step: presentStep(row, index + 1), row_version: row.row_version }))
}
