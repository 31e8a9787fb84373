import { NativeSelect, VisuallyHidden } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { useApi } from '../api/services.ts'
import classes from '../ui/shell.module.css'
import { isOrganizationPage, isScopedPage, useScope } from './scope.ts'
import { projectsQuery, useEnvironment, useEnvironments, useOrganizations, useProject } from './tree.ts'

type Option = { id: number; name: string }
type OptionsQuery = { data?: Option[] | undefined; isFetching: boolean }

export function ScopeSwitcher() {
  const [location] = useLocation()
  const [scope, setScope] = useScope()
  const organizations = useOrganizations()
  // A single option needs no choice: the level below it is offered at once.
  const organization = scope.organization ?? onlyOne(organizations)
  const projects = useQuery(projectsQuery(useApi(), organization))
  const project = scope.project ?? onlyOne(projects)
  const environments = useEnvironments(project)
  // People with access to part of a level get no list of it; what they selected still has a name.
  const unlistedEnvironment = useEnvironment(unlisted(environments, scope.environment)).data
  const unlistedProject = useProject(unlisted(projects, scope.project)).data ?? unlistedEnvironment?.project
  if (!isScopedPage(location)) return null
  return (
    <fieldset className={classes.scopes}>
      <VisuallyHidden component="legend">Scope</VisuallyHidden>
      <Level
        name="Organization"
        selected={scope.organization}
        options={organizations.data}
        unlisted={unlistedProject?.organization}
        select={(id) => setScope({ organization: id })}
      />
      {!isOrganizationPage(location) && (
        <>
          <Level
            name="Project"
            selected={scope.project}
            options={projects.data}
            unlisted={unlistedProject}
            select={(id) => setScope({ organization, project: id })}
          />
          <Level
            name="Environment"
            selected={scope.environment}
            options={environments.data}
            unlisted={unlistedEnvironment}
            select={(id) => setScope({ organization, project, environment: id })}
          />
        </>
      )}
    </fieldset>
  )
}

function onlyOne({ data }: OptionsQuery): number | undefined {
  return data?.length === 1 ? data[0]!.id : undefined
}

/** The selected id, unless its list is still loading or includes it. */
function unlisted({ data, isFetching }: OptionsQuery, selected: number | undefined): number | undefined {
  return isFetching || data?.some(({ id }) => id === selected) ? undefined : selected
}

type LevelProps = {
  name: string
  selected: number | undefined
  options: Option[] | undefined
  unlisted: Option | undefined
  select(id: number | undefined): void
}

function Level({ name, selected, options = [], unlisted, select }: LevelProps) {
  if (options.length === 0 && selected === undefined && name !== 'Organization') return null
  const isListed = selected === undefined || options.some(({ id }) => id === selected)
  const fallback = unlisted?.id === selected ? unlisted?.name : `#${selected}`
  return (
    <NativeSelect
      size="xs"
      aria-label={name}
      value={selected ?? ''}
      onChange={(event) => select(Number(event.currentTarget.value) || undefined)}
      data={[
        { value: '', label: `All ${name.toLowerCase()}s` },
        ...(isListed ? [] : [{ value: String(selected), label: fallback ?? '' }]),
        ...options.map((option) => ({ value: String(option.id), label: option.name })),
      ]}
    />
  )
}
