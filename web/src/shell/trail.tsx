import { Link } from 'wouter'
import { placeSearch } from './place.ts'
import classes from './shell.module.css'
import { useEnvironment } from './tree.ts'

type Named = { id: number; name: string }
type TrailProps = {
  /** The page that shows what else there is in each of these places. */
  page: '/actions' | '/pipelines' | '/hooks'
  organization: Named
  project: Named
  environment: Named
}

/** Where a thing stands: two projects may well have a pipeline of the same name. */
export function Trail({ page, organization, project, environment }: TrailProps) {
  const inProject = { organization: organization.id, project: project.id }
  return (
    <nav className={classes.trail} aria-label="Where it stands">
      <Link href={page + placeSearch({ organization: organization.id })}>{organization.name}</Link> /{' '}
      <Link href={page + placeSearch(inProject)}>{project.name}</Link> /{' '}
      <Link href={page + placeSearch({ ...inProject, environment: environment.id })}>{environment.name}</Link>
    </nav>
  )
}

type TrailToProps = { page: TrailProps['page']; environmentId: number }

/** The same for what names only its environment. Nothing while, or where, that cannot be read. */
export function TrailTo({ page, environmentId }: TrailToProps) {
  const { data } = useEnvironment(environmentId)
  if (!data) return null
  return (
    <Trail page={page} organization={data.project.organization} project={data.project} environment={data} />
  )
}
