// What polling the repository has found.
import { Alert, DataList } from '@mantine/core'
import { TriangleAlert } from 'lucide-react'
import type { Hook } from '#web/base/api/types.ts'
import { Fact, StatusBadge } from '#web/base/ui/parts.tsx'
import { Age } from '#web/base/ui/time.tsx'
import { useSource } from '#web/resources/applications/applications.ts'
import { intervalText, repositoryState } from '#web/resources/hooks/connection.ts'
import { DEFAULT_POLL_SECONDS, type PollSettings } from './poll-values.ts'

type PollFactsProps = { hook: Hook; poll: NonNullable<Hook['poll']> }

export function PollFacts({ hook, poll: { polled_at, problem, branches } }: PollFactsProps) {
  const source = useSource(hook.resource_id)
  const { refs, every_seconds = DEFAULT_POLL_SECONDS } = hook.settings.poll as PollSettings
  const state = repositoryState(hook)
  return (
    <>
      {state && <StatusBadge {...state} />}
      {problem && (
        <Alert
          color="orange"
          icon={<TriangleAlert size={18} aria-hidden="true" />}
          role="note"
          mt="md"
          title="Gantry cannot read the repository"
        >
          {problem} Gantry asks again by itself, less often at first.
        </Alert>
      )}
      <DataList mt="md">
        <Fact label="Repository">{source?.repository}</Fact>
        <Fact label="Branches">{(refs ?? (source ? [source.default_branch] : [])).join(', ')}</Fact>
        <Fact label="Asked">
          {polled_at ? <Age of={polled_at} /> : 'Not yet'}, {intervalText(every_seconds)}
        </Fact>
        {branches.map(({ name, commit, moved_at }) => (
          <Fact key={name} label={name}>
            <code>{commit.slice(0, 8)}</code>
            {moved_at && (
              <>
                {' · last call '}
                <Age of={moved_at} />
              </>
            )}
          </Fact>
        ))}
      </DataList>
    </>
  )
}
