import { Group, TextInput } from '@mantine/core'
import { ChevronDown, ChevronUp } from 'lucide-react'
import { useDeferredValue, useMemo, useState } from 'react'
import { IconButton } from '#web/base/ui/controls.tsx'
import { findNodes } from './json-rows.ts'

const MAX_MATCHES = 1_000

export function TreeSearch({ root, goTo }: { root: unknown; goTo(keys: readonly string[]): void }) {
  const [query, setQuery] = useState('')
  const [current, setCurrent] = useState(-1)
  const searched = useDeferredValue(query)
  const matches = useMemo(() => findNodes(root, searched, MAX_MATCHES), [root, searched])

  function go(by: number): void {
    // Enter may come before the deferred search.
    const found = searched === query ? matches : findNodes(root, query, MAX_MATCHES)
    if (found.length === 0) return
    const next = (Math.max(current, by > 0 ? -1 : 0) + by + found.length) % found.length
    setCurrent(next)
    goTo(found[next]!)
  }

  return (
    <Group gap="xs" mb={6}>
      <TextInput
        size="xs"
        flex={1}
        maw="18rem"
        aria-label="Search the JSON"
        placeholder="Search keys and values"
        value={query}
        onChange={(event) => {
          setQuery(event.currentTarget.value)
          setCurrent(-1)
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return
          event.preventDefault()
          go(event.shiftKey ? -1 : 1)
        }}
      />
      {query !== '' && (
        <>
          <span className="dimmed" role="status">
            {matchText(current, matches.length)}
          </span>
          <IconButton
            label="Previous match"
            icon={ChevronUp}
            variant="default"
            size="sm"
            onClick={() => go(-1)}
          />
          <IconButton
            label="Next match"
            icon={ChevronDown}
            variant="default"
            size="sm"
            onClick={() => go(1)}
          />
        </>
      )}
    </Group>
  )
}

function matchText(current: number, count: number): string {
  if (count === 0) return 'no matches'
  const total = count === MAX_MATCHES ? `${MAX_MATCHES}+` : String(count)
  return current === -1 ? `${total} ${count === 1 ? 'match' : 'matches'}` : `${current + 1} of ${total}`
}
