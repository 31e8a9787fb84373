import { Text } from '@mantine/core'
import { ArrowDown } from 'lucide-react'
import { Link } from 'wouter'
import type { RunPlan } from '../api/types.ts'
import { ICON } from '../ui/icon.ts'

type Rollback = NonNullable<RunPlan['rollback']>

/** From which release to which. */
export function RollbackSummary({ rollback: { from, to } }: { rollback: Rollback }) {
  return (
    <>
      {from ? (
        <Release word="From" release={from} />
      ) : (
        <Text size="sm">From whatever is live on each server</Text>
      )}
      <ArrowDown {...ICON} />
      <Release word="To" release={to} />
    </>
  )
}

function Release({ word, release }: { word: string; release: Rollback['to'] }) {
  const { release_name, commit_hash, commit_message, action_id } = release
  return (
    <Text size="sm" className="wrap" component="div">
      {word} <code>{release_name}</code>
      {action_id !== null && (
        <>
          {' '}
          <Link href={`/actions/${action_id}`} target="_blank" rel="noreferrer">
            #{action_id}
          </Link>
        </>
      )}
      <div className="dimmed">
        {commit_hash && <code>{commit_hash.slice(0, 8)}</code>}{' '}
        {commit_message?.split('\n')[0]?.slice(0, 200)}
      </div>
    </Text>
  )
}
