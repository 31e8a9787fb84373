// Hooks of both kinds, environment by environment.
import { Group, SegmentedControl, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { Plus, Search } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { EachEnvironment } from '../scope/each-environment.tsx'
import { scopeSearch, useScope, useSearch } from '../scope/scope.ts'
import { useAnyPermission } from '../session/permissions.ts'
import { ReasonedButton } from '../ui/guarded-button.tsx'
import { PageHeader } from '../ui/page.tsx'
import { EnvironmentHooks, type HookFilter } from './environment-hooks.tsx'

const TYPES = [
  { value: 'all', label: 'All' },
  { value: 'incoming', label: 'Incoming' },
  { value: 'outgoing', label: 'Outgoing' },
]
const SEARCH_DELAY_MS = 250

export default function HooksPage() {
  const [search, update] = useSearch()
  const type = TYPES.find(({ value }) => value === search.get('type'))?.value ?? 'all'
  const [text, setText] = useState(search.get('q') ?? '')
  const [q] = useDebouncedValue(text, SEARCH_DELAY_MS)
  useEffect(() => update({ q }, true), [q, update])
  const filter: HookFilter = { q, type: type === 'all' ? undefined : (type as HookFilter['type']) }
  return (
    <>
      <PageHeader title="Hooks">
        <AddHookButton />
      </PageHeader>
      <Group gap="sm" mb="md">
        <TextInput
          aria-label="Filter hooks"
          placeholder="Filter by name, pipeline or application"
          leftSection={<Search size={16} strokeWidth={1.75} aria-hidden="true" />}
          w="20rem"
          maw="100%"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <SegmentedControl
          aria-label="Type of hooks"
          data={TYPES}
          value={type}
          onChange={(next) => update({ type: next === 'all' ? undefined : next }, true)}
        />
      </Group>
      <EachEnvironment>
        {({ id }) => <EnvironmentHooks key={`${id} ${type} ${q}`} environmentId={id} filter={filter} />}
      </EachEnvironment>
    </>
  )
}

/** The next page asks which kind, which pipeline and which service. */
function AddHookButton() {
  const [scope] = useScope()
  const [, navigate] = useLocation()
  const { allowed, reason } = useAnyPermission('hook:add', scope)
  return (
    <ReasonedButton
      reason={allowed ? undefined : reason}
      icon={Plus}
      onClick={() => navigate(`/hooks/new${scopeSearch(scope)}`)}
    >
      Add hook
    </ReasonedButton>
  )
}
