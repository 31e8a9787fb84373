import { Link } from 'wouter'
import { usePipeline } from './pipelines.ts'

/** By name, once it is known and if the person may see it. */
export function PipelineLink({ id }: { id: number }) {
  const { data } = usePipeline(id)
  return <Link href={`/pipelines/${id}`}>{data?.name ?? `Pipeline ${id}`}</Link>
}
