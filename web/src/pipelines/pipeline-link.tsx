import { Link } from 'wouter'
import { usePipeline } from './inventory.ts'

/** By its name, as soon as that is known and the person may see it. */
export function PipelineLink({ id }: { id: number }) {
  const { data } = usePipeline(String(id))
  return <Link href={`/pipelines/${id}`}>{data?.name ?? `Pipeline ${id}`}</Link>
}
