import { Breadcrumbs } from '@mantine/core'
import { Link } from 'wouter'
import type { Environment } from '#web/base/api/types.ts'
import { environmentScope } from '#web/base/session/permissions.ts'
import { useSetPageScope } from './page-scope.ts'
import { scopeSearch } from './scope.ts'
import classes from './scope-breadcrumbs.module.css'

type ScopeBreadcrumbsProps = {
  /** The page that lists what else is in each scope. */
  page: '/actions' | '/applications' | '/servers' | '/pipelines' | '/hooks'
  /** Undefined while, or where, it cannot be read. */
  environment: Environment | undefined
  /** What it belongs to inside of the environment, outermost first: an application, its pipeline. */
  parents?: { href: string; name: string }[]
}

/** The scope of an object: two projects may have a pipeline of the same name. */
export function ScopeBreadcrumbs({ page, environment, parents = [] }: ScopeBreadcrumbsProps) {
  useSetPageScope(environment ? environmentScope(environment) : {})
  if (!environment) return null
  const { project } = environment
  const inOrganization = { organization: project.organization.id }
  const inProject = { ...inOrganization, project: project.id }
  const inEnvironment = { ...inProject, environment: environment.id }
  return (
    <nav aria-label="Scope">
      <Breadcrumbs mb={4} fz="sm" separatorMargin="0.375rem" className={classes.breadcrumbs!}>
        <Link href={page + scopeSearch(inOrganization)}>{project.organization.name}</Link>
        <Link href={page + scopeSearch(inProject)}>{project.name}</Link>
        <Link href={page + scopeSearch(inEnvironment)}>{environment.name}</Link>
        {parents.map(({ href, name }) => (
          <Link key={href} href={href}>
            {name}
          </Link>
        ))}
      </Breadcrumbs>
    </nav>
  )
}
