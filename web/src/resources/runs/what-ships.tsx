import { Text } from '@mantine/core'
import type { ReleaseComparison } from '#web/base/api/types.ts'
import { plural } from '#web/base/ui/status.ts'
import classes from './run.module.css'
import { shipsText } from './ships-text.ts'

export type Shipping = { data: ReleaseComparison[] | null | undefined; isFetching: boolean }

const MAX_COMMITS = 5

/** The commits that a deploy would bring to each server, before it starts. */
export function WhatShips({ shipping: { data, isFetching } }: { shipping: Shipping }) {
  if (!data)
    return isFetching ? (
      <Text size="sm" className="dimmed">
        Looking up what would ship…
      </Text>
    ) : null
  return data.map((comparison) => (
    <Shipped
      key={comparison.servers.map(({ id }) => id).join()}
      comparison={comparison}
      isOnly={data.length === 1}
    />
  ))
}

function Shipped({ comparison, isOnly }: { comparison: ReleaseComparison; isOnly: boolean }) {
  const { servers, commits, removed_commits, reason_human_readable, rewritten } = comparison
  const rest = (commits?.total ?? 0) - MAX_COMMITS
  return (
    <div className={classes.ships}>
      <Text size="sm" className="wrap">
        {!isOnly && `${servers.map(({ name }) => name).join(', ')}: `}
        {shipsText(comparison)}
      </Text>
      {reason_human_readable && commits !== null && <Text size="sm">{reason_human_readable}</Text>}
      {rewritten && <Text size="sm">The history was rewritten: the live commit has left its branch.</Text>}
      {commits && commits.total > 0 && (
        <ul className="plain-list">
          {commits.items.slice(0, MAX_COMMITS).map(({ sha, subject }) => (
            <li key={sha}>
              <code>{sha.slice(0, 8)}</code> <bdi>{subject}</bdi>
            </li>
          ))}
          {rest > 0 && <li className="dimmed">and {rest} more</li>}
        </ul>
      )}
      {removed_commits && removed_commits.total > 0 && (
        <Text size="sm">{plural(removed_commits.total, 'commit')} of what is live will be removed.</Text>
      )}
    </div>
  )
}
