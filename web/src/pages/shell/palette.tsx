// Search and commands, by keyboard: jump to anything that has a name, or do something.
import '#web/base/ui/more-styles.ts'
import { Modal, TextInput, VisuallyHidden } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQueryClient } from '@tanstack/react-query'
import { Search } from 'lucide-react'
import { type KeyboardEvent, useId, useState } from 'react'
import { useLocation } from 'wouter'
import { queryKeys, useApi } from '#web/base/api/queries.ts'
import { leavePage } from '#web/base/form/leave-guard.ts'
import { useSession } from '#web/base/session/session.ts'
import { useLayer } from '#web/base/ui/layers.ts'
import { notify } from '#web/base/ui/notify.ts'
import { plural } from '#web/base/ui/status.ts'
import { useReturnFocus } from '#web/base/ui/use-return-focus.ts'
import type { Scope } from '#web/shared/scope/scope.ts'
import { useColorScheme } from './color-schemes.ts'
import classes from './palette.module.css'
import { useGroups } from './palette-groups.ts'
import type { Item } from './palette-items.ts'
import { PaletteOption } from './palette-option.tsx'
import { addRecent, readRecent } from './palette-recent.ts'

const TYPING_MS = 120

export default function Palette({ scope, close }: { scope: Scope; close(): void }) {
  useReturnFocus()
  const { user } = useSession()
  const choose = useChoose()
  const id = useId()
  const [input, setInput] = useState('')
  const isTop = useLayer()
  const [recent] = useState(() => readRecent(user.id))
  const [debounced] = useDebouncedValue(input, TYPING_MS)
  const { groups, isFetching, hasMore } = useGroups(debounced, scope, recent)
  const items = groups.flatMap((group) => group.items)
  const [active, setActive] = useState(0)
  const selected = Math.min(active, items.length - 1)
  const isCurrent = debounced === input && !isFetching

  function pick(item: Item | undefined): void {
    if (!item) return
    if (item.choice.kind !== 'sign-out') addRecent(user.id, item)
    close()
    choose(item)
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.key === 'ArrowDown') setActive((selected + 1) % Math.max(items.length, 1))
    else if (event.key === 'ArrowUp') setActive((selected - 1 + items.length) % Math.max(items.length, 1))
    // What is listed may not be what was typed yet.
    else if (event.key === 'Enter') isCurrent && pick(items[selected])
    else return
    event.preventDefault()
  }

  let index = 0
  return (
    <Modal.Root
      opened
      onClose={() => isTop() && close()}
      lockScroll={false}
      size="40rem"
      yOffset="12dvh"
      transitionProps={{ duration: 0 }}
    >
      <Modal.Overlay />
      <Modal.Content aria-label="Search and commands" radius="lg">
        <TextInput
          size="md"
          variant="unstyled"
          className={classes.input!}
          leftSection={<Search size={18} strokeWidth={1.75} aria-hidden="true" />}
          placeholder="Search, or type: run, deploy, roll back, #42, a commit…"
          role="combobox"
          aria-label="Search and commands"
          aria-expanded="true"
          aria-autocomplete="list"
          aria-controls={`${id}-list`}
          aria-activedescendant={items.length > 0 ? `${id}-${selected}` : undefined}
          maxLength={300}
          data-autofocus
          value={input}
          onChange={(event) => {
            setInput(event.currentTarget.value)
            setActive(0)
          }}
          onKeyDown={onKeyDown}
        />
        <div
          className={classes.list}
          role="listbox"
          id={`${id}-list`}
          aria-label="Results"
          aria-busy={!isCurrent}
        >
          {groups.map(({ title, items: ofGroup }, position) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two groups may have the same title
            // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be part of a listbox
            <div key={position} role="group" aria-label={title}>
              <div className={classes.title} aria-hidden="true">
                {title}
              </div>
              {ofGroup.map((item) => {
                const here = index++
                return (
                  <PaletteOption
                    key={item.key}
                    id={`${id}-${here}`}
                    item={item}
                    isActive={here === selected}
                    activate={() => setActive(here)}
                    pick={() => pick(item)}
                  />
                )
              })}
            </div>
          ))}
        </div>
        {isCurrent && items.length === 0 && <div className={classes.note}>Nothing found</div>}
        {hasMore && <div className={classes.note}>More results; keep typing.</div>}
        <VisuallyHidden role="status">{isCurrent ? plural(items.length, 'result') : ''}</VisuallyHidden>
      </Modal.Content>
    </Modal.Root>
  )
}

/** Does what an item says. */
function useChoose(): (item: Item) => void {
  const api = useApi()
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const [, setColorScheme] = useColorScheme()
  const { signOut } = useSession()

  async function openDeploy(applicationId: number, dialog: 'run' | 'rollback'): Promise<void> {
    const path = { resource_id: applicationId }
    const pipelines = await queries.fetchQuery({
      queryKey: queryKeys.pipelines('application', applicationId),
      queryFn: ({ signal }) => api.all('/pipelines/application/{resource_id}', { params: { path }, signal }),
    })
    const deploy = pipelines.find(({ operation }) => operation === 'deploy')
    if (deploy) navigate(`/pipelines/${deploy.id}?${dialog}=1`)
    else notify.problem(new Error('This application has no pipeline that deploys it.'))
  }

  return ({ choice }) => {
    if (choice.kind === 'go') navigate(choice.to)
    else if (choice.kind === 'open') location.assign(choice.href)
    else if (choice.kind === 'deploy') openDeploy(choice.applicationId, 'run').catch(notify.problem)
    else if (choice.kind === 'roll-back') openDeploy(choice.applicationId, 'rollback').catch(notify.problem)
    else if (choice.kind === 'color-scheme') setColorScheme(choice.value)
    else leavePage(() => void signOut())
  }
}
