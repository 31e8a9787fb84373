import { useQueries } from '@tanstack/react-query'
import { Webhook } from 'lucide-react'
import { Link } from 'wouter'
import { combineQueries, useApi } from '#web/base/api/queries.ts'
import type { Pipeline } from '#web/base/api/types.ts'
import { EmptyState, Loaded } from '#web/base/ui/page.tsx'
import { Section } from '#web/base/ui/parts.tsx'
import { RowTable } from '#web/base/ui/table.tsx'
import { HookBadge } from '#web/resources/hooks/hook-badge.tsx'
import { hooksQuery } from '#web/resources/pipelines/pipelines.ts'
import { useResourcePipelines } from '#web/resources/pipelines/resource-pipelines.tsx'

/** The hooks of all pipelines of an application. */
export function HooksTab({ applicationId }: { applicationId: number }) {
  return (
    <Section id="hooks" title="Hooks">
      <Loaded query={useResourcePipelines('application', applicationId)} what="pipelines">
        {(pipelines) =>
          pipelines.length === 0 ? (
            <EmptyState icon={Webhook} title="No hooks yet" isCompact>
              A hook starts a pipeline, or reports its runs: add a pipeline first.
            </EmptyState>
          ) : (
            <PipelineHooks pipelines={pipelines} />
          )
        }
      </Loaded>
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
