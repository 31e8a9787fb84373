import { TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Building2, ChevronsUpDown, FolderClosed, Layers, type LucideIcon } from 'lucide-react'
import { useContext, useState } from 'react'
import { useLocation } from 'wouter'
import { useApi } from '#web/base/api/queries.ts'
import { PageScopeContext } from './page-scope.ts'
import { pageForScope, type Scope, scopeSearch, useScope } from './scope.ts'
import classes from './scope-switcher.module.css'
import { projectsQuery, useEnvironment, useEnvironments, useOrganizations, useProject } from './tree.ts'

const importSelect = () => import('./scope-select.tsx')
type ScopeSelect = Awaited<ReturnType<typeof importSelect>>['default']
const OPENING = ['ArrowDown', 'ArrowUp', 'Enter', ' ']

type OptionsQuery = { data?: Option[] | undefined; isFetching: boolean }

/** One control per level. Where the page has no scope of its own, selecting one leads to a page that has. */
export function ScopeSwitcher({ scope: carried }: { scope: Scope }) {
  const [ofPage] = useContext(PageScopeContext)
  const scope = ofPage ?? carried
  const select = useSelect()
  const organizations = useOrganizations()
  // A single option needs no choice: the level below it is offered at once.
  const organization = scope.organization ?? onlyOne(organizations)
  const projects = useQuery(projectsQuery(useApi(), organization))
  const project = scope.project ?? onlyOne(projects)
  const environments = useEnvironments(project)
  // People with access to part of a level get no list of it; what they selected still has a name.
  const unlistedEnvironment = useEnvironment(unlisted(environments, scope.environment)).data
  const unlistedProject = useProject(unlisted(projects, scope.project)).data ?? unlistedEnvironment?.project
  return (
    <fieldset className={classes.scopes} aria-label="Scope">
      <ScopeLevel
        name="Organization"
        icon={Building2}
        selected={scope.organization}
        options={organizations.data}
        unlisted={unlistedProject?.organization}
        select={(id) => select({ organization: id })}
      />
      <ScopeLevel
        name="Project"
        icon={FolderClosed}
        selected={scope.project}
        options={projects.data}
        unlisted={unlistedProject}
        select={(id) => select({ organization, project: id })}
      />
      <ScopeLevel
        name="Environment"
        icon={Layers}
        selected={scope.environment}
        options={environments.data}
        unlisted={unlistedEnvironment}
        select={(id) => select({ organization, project, environment: id })}
      />
    </fieldset>
  )
}

function useSelect(): (scope: Scope) => void {
  const [location, navigate] = useLocation()
  const [, setScope] = useScope()
  return (scope) => {
    const page = pageForScope(location, scope)
    if (page === location) setScope(scope)
    else navigate(page + scopeSearch(scope))
  }
}

function onlyOne({ data }: OptionsQuery): number | undefined {
  return data?.length === 1 ? data[0]!.id : undefined
}

/** The selected id, unless its list is still loading or includes it. */
function unlisted({ data, isFetching }: OptionsQuery, selected: number | undefined): number | undefined {
  return isFetching || data?.some(({ id }) => id === selected) ? undefined : selected
}

type Option = { id: number; name: string }

type ScopeLevelProps = {
  name: string
  icon: LucideIcon
  selected: number | undefined
  options: Option[] | undefined
  /** What is selected, where the list does not include it. */
  unlisted: Option | undefined
  select(id: number | undefined): void
}

function ScopeLevel({ name, icon: Icon, selected, options = [], unlisted, select }: ScopeLevelProps) {
  const [state, setState] = useState<'shown' | 'wanted' | 'opened'>('shown')
  const [typed, setTyped] = useState('')
  const [ScopeSelect, setSelect] = useState<ScopeSelect>()
  if (options.length === 0 && selected === undefined && name !== 'Organization') return null
  const isListed = selected === undefined || options.some(({ id }) => id === selected)
  const fallback = (unlisted?.id === selected ? unlisted?.name : `#${selected}`) ?? ''
  const all = `All ${name.toLowerCase()}s`
  const common = {
    'aria-label': name,
    size: 'sm',
    variant: 'unstyled',
    leftSection: <Icon size={16} strokeWidth={1.75} aria-hidden="true" />,
    leftSectionPointerEvents: 'none',
  } as const
  /** When someone is about to open it. Until it is there, the input stays: replacing it twice would lose the focus. */
  const load = () =>
    void importSelect()
      .then((loaded) => setSelect(() => loaded.default))
      .catch(() => {})
  if (ScopeSelect)
    return (
      <ScopeSelect
        {...common}
        isFocused={state !== 'shown'}
        isOpen={state === 'opened'}
        typed={typed}
        value={selected}
        select={select}
        all={all}
        options={isListed ? options : [{ id: selected, name: fallback }, ...options]}
      />
    )
  return (
    <TextInput
      {...common}
      classNames={{ input: classes.input! }}
      rightSection={<ChevronsUpDown size={14} aria-hidden="true" />}
      rightSectionPointerEvents="none"
      role="combobox"
      aria-haspopup="listbox"
      aria-expanded={false}
      readOnly
      value={selected === undefined ? all : (options.find(({ id }) => id === selected)?.name ?? fallback)}
      onPointerEnter={load}
      onFocus={() => {
        load()
        setState((now) => (now === 'shown' ? 'wanted' : now))
      }}
      onBlur={() => setState('shown')}
      onPointerDown={() => setState('opened')}
      onKeyDown={({ key, ctrlKey, metaKey, altKey }) => {
        const isText = key.length === 1 && key !== ' ' && !ctrlKey && !metaKey && !altKey
        if (isText) setTyped((before) => before + key)
        if (isText || OPENING.includes(key)) setState('opened')
      }}
    />
  )
}
