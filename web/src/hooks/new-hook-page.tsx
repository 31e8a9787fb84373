import { SegmentedControl, Stack } from '@mantine/core'
import { lazy, Suspense, useCallback } from 'react'
import { useSearch } from '../scope/scope.ts'
import { Loading, PageHeader } from '../ui/page.tsx'
import { PipelineField, useChosenPipeline } from './pipeline-field.tsx'

const NewIncomingHook = lazy(() => import('./incoming/new-incoming-hook.tsx'))
const NewOutgoingHook = lazy(() => import('./outgoing/new-outgoing-hook.tsx'))

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
  const NewHook = type === 'incoming' ? NewIncomingHook : NewOutgoingHook
  return (
    <>
      <PageHeader title="Add hook" />
      <Stack gap="lg">
        <SegmentedControl
          aria-label="Direction"
          data={DIRECTIONS}
          value={type}
          onChange={(next) => update({ type: next }, true)}
        />
        <PipelineField chosen={pipeline} choose={choose} />
        <Suspense fallback={<Loading what="catalog" />}>
          <NewHook pipeline={pipeline} />
        </Suspense>
      </Stack>
    </>
  )
}
