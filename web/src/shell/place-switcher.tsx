import { NativeSelect } from '@mantine/core'
import { useLocation } from 'wouter'
import { isPageOfPlace } from './place.ts'
import classes from './shell.module.css'
import { useEnvironment, useEnvironments, useOrganizations, useProject, useProjects } from './tree.ts'
import { usePlace } from './use-place.ts'

type Option = { id: number; name: string }
type Listed = { data?: Option[] | undefined; isFetching: boolean }

export function PlaceSwitcher() {
  const [location] = useLocation()
  const [place, choose] = usePlace()
  const organizations = useOrganizations()
  // Where there is only one there is nothing to choose: what stands below it can be chosen at once.
  const organization = place.organization ?? onlyOne(organizations)
  const projects = useProjects(organization)
  const project = place.project ?? onlyOne(projects)
  const environments = useEnvironments(project)
  // Whoever sees only part of a level is shown no list of it; what they have chosen still has a name.
  const environmentAlone = useEnvironment(unlisted(environments, place.environment)).data
  const projectAlone = useProject(unlisted(projects, place.project)).data ?? environmentAlone?.project
  if (!isPageOfPlace(location)) return null
  return (
    <fieldset className={classes.places}>
      <legend className="hidden-words">Place</legend>
      <Level
        name="Organization"
        all="All organizations"
        chosen={place.organization}
        options={organizations.data}
        alone={projectAlone?.organization}
        choose={(id) => choose({ organization: id })}
      />
      {/* Members belong to organizations. */}
      {location !== '/members' && (
        <>
          <Level
            name="Project"
            all="All projects"
            chosen={place.project}
            options={projects.data}
            alone={projectAlone}
            choose={(id) => choose({ organization, project: id })}
          />
          <Level
            name="Environment"
            all="All environments"
            chosen={place.environment}
            options={environments.data}
            alone={environmentAlone}
            choose={(id) => choose({ organization, project, environment: id })}
          />
        </>
      )}
    </fieldset>
  )
}

function onlyOne({ data }: Listed): number | undefined {
  return data?.length === 1 ? data[0]!.id : undefined
}

/** What was chosen, when a list that has been read or cannot be does not have it. */
function unlisted({ data, isFetching }: Listed, chosen: number | undefined): number | undefined {
  return isFetching || data?.some(({ id }) => id === chosen) ? undefined : chosen
}

type LevelProps = {
  name: string
  all: string
  chosen: number | undefined
  options: Option[] | undefined
  alone: Option | undefined
  choose(id: number | undefined): void
}

function Level({ name, all, chosen, options = [], alone, choose }: LevelProps) {
  if (options.length === 0 && chosen === undefined && name !== 'Organization') return null
  const isListed = chosen === undefined || options.some((option) => option.id === chosen)
  const nameAlone = alone?.id === chosen ? alone?.name : `#${chosen}`
  return (
    <NativeSelect
      size="xs"
      aria-label={name}
      value={chosen ?? ''}
      onChange={(event) => choose(Number(event.currentTarget.value) || undefined)}
      data={[
        { value: '', label: all },
        ...(isListed ? [] : [{ value: String(chosen), label: nameAlone ?? '' }]),
        ...options.map((option) => ({ value: String(option.id), label: option.name })),
      ]}
    />
  )
}
