// The pages of a list.
import { Button, Group, Text } from '@mantine/core'
import type { ReactNode } from 'react'

type PagerProps = {
  label: string
  page: number
  total: string
  hasNext: boolean
  /** The buttons of lists that are not ordered by time. */
  words?: readonly [before: string, after: string]
  go(page: number): void
}

/** `children` follow the buttons. */
export function Pager(props: PagerProps & { children?: ReactNode }) {
  const { label, page, total, hasNext, words = ['Newer', 'Older'], go, children } = props
  const isOnly = page === 1 && !hasNext
  return (
    <Group component="nav" gap="sm" mt="sm" aria-label={label}>
      {isOnly ? (
        <Text size="sm" className="numeric dimmed">
          {total} total
        </Text>
      ) : (
        <>
          <Button size="xs" variant="default" disabled={page === 1} onClick={() => go(page - 1)}>
            {words[0]}
          </Button>
          <Text size="sm" className="numeric">
            Page {page} · {total} total
          </Text>
          <Button size="xs" variant="default" disabled={!hasNext} onClick={() => go(page + 1)}>
            {words[1]}
          </Button>
        </>
      )}
      {children}
    </Group>
  )
}
