import { Group, SegmentedControl, Stack } from '@mantine/core'
import { Workflow } from 'lucide-react'
import { lazy, Suspense, useCallback, useState } from 'react'
import { useAnyPermission } from '#web/base/session/permissions.ts'
import { Loading, PageHeader } from '#web/base/ui/page.tsx'
import { PipelineField, useChosenPipeline } from '#web/resources/hooks/pipeline-field.tsx'
import { useSearch } from '#web/shared/scope/scope.ts'
import { StartHere, useFirstStep } from '#web/shared/scope/start-here.tsx'

const NewIncomingHook = lazy(() => import('#web/pages/hooks/incoming/new-incoming-hook.tsx'))
const NewOutgoingHook = lazy(() => import('#web/pages/hooks/outgoing/new-outgoing-hook.tsx'))

const DIRECTIONS = [
  { value: 'incoming', label: 'Incoming: starts a pipeline' },
  { value: 'outgoing', label: 'Outgoing: reports its runs' },
]

/** `?type=incoming|outgoing&pipeline=12`. */
export default function NewHookPage() {
  const [search, update] = useSearch()
  const type = search.get('type') === 'outgoing' ? 'outgoing' : 'incoming'
  const pipeline = useChosenPipeline(Number(search.get('pipeline')) || undefined)
  const choose = useCallback((id: number | undefined) => update({ pipeline: id }, true), [update])
  // What is shown once must not be lost by another choice.
  const [isCreated, setCreated] = useState(false)
  const step = useFirstStep('pipeline')
  const { allowed: seesPipelines } = useAnyPermission('pipeline:view', {})
  // People may add hooks without seeing pipelines: they enter its id.
  if (step && !search.has('pipeline') && (step.button || seesPipelines))
    return (
      <>
        <PageHeader title="Add hook" />
        <StartHere
          icon={Workflow}
          title="No pipelines yet"
          text="A hook starts a pipeline, or reports its runs."
          needs="pipeline"
        />
      </>
    )
  return (
    <>
      <PageHeader title="Add hook" />
      <Stack gap="lg">
        {!isCreated && (
          <>
            <Group>
              <SegmentedControl
                aria-label="Direction"
                data={DIRECTIONS}
                w="min(32rem, 100%)"
                value={type}
                onChange={(next) => update({ type: next }, true)}
              />
            </Group>
            <PipelineField chosen={pipeline} choose={choose} />
          </>
        )}
        <Suspense fallback={<Loading what="catalog" />}>
          {type === 'incoming' ? (
            <NewIncomingHook pipeline={pipeline} onCreated={() => setCreated(true)} />
          ) : (
            <NewOutgoingHook pipeline={pipeline} onCreated={() => setCreated(true)} />
          )}
        </Suspense>
      </Stack>
    </>
  )
}
