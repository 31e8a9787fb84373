import { useQueries } from '@tanstack/react-query'
import { Link } from 'wouter'
import { combineQueries, useApi } from '../api/queries.ts'
import type { Pipeline } from '../api/types.ts'
import { hooksQuery } from '../pipelines/pipelines.ts'
import { useResourcePipelines } from '../pipelines/resource-pipelines.tsx'
import { Loaded } from '../ui/page.tsx'
import { HookBadge, Section } from '../ui/parts.tsx'
import { RowTable } from '../ui/table.tsx'

/** The hooks of all pipelines of an application. */
export function ApplicationHooks({ applicationId }: { applicationId: number }) {
  const { data } = useResourcePipelines('application', applicationId)
  // Without pipelines there is nothing that a hook could trigger.
  if (!data || data.length === 0) return null
  return (
    <Section id="hooks" title="Hooks">
      <PipelineHooks pipelines={data} />
    </Section>
  )
}

function PipelineHooks({ pipelines }: { pipelines: Pipeline[] }) {
  const api = useApi()
  const query = useQueries({
    queries: pipelines.map(({ id }) => hooksQuery(api, id)),
    combine: combineQueries,
  })
  return (
    <Loaded query={query} what="hooks">
      {(lists) => {
        const rows = lists.flatMap((hooks, index) =>
          hooks.map((hook) => ({ id: hook.id, hook, pipeline: pipelines[index]! })),
        )
        return (
          <RowTable
            label="Hooks"
            rows={rows}
            columns={[
              [
                'Name',
                'wrap name-cell',
                ({ hook: { type, id, name } }) => <Link href={`/hooks/${type}/${id}`}>{name}</Link>,
              ],
              [
                'Direction',
                'dimmed',
                ({ hook }) => (hook.type === 'incoming' ? 'Incoming: starts runs' : 'Outgoing: reports runs'),
              ],
              ['Pipeline', 'wrap dimmed', ({ pipeline }) => pipeline.name],
              ['State', undefined, ({ hook }) => <HookBadge hook={hook} />],
            ]}
            empty={<span className="dimmed">No hooks yet</span>}
          />
        )
      }}
    </Loaded>
  )
}
