import { useEnvironment, useProject } from '../scope/tree.ts'

type Grant = { role_name: string; project_id: number | null; environment_id: number | null }

export function GrantLabels({ grants }: { grants: Grant[] }) {
  return grants.map((grant, index) => (
    <span key={`${grant.role_name} ${grant.project_id} ${grant.environment_id}`}>
      {index > 0 && ', '}
      <GrantLabel grant={grant} />
    </span>
  ))
}

/** With the names of its scope, once they are known and if the person may see them. */
function GrantLabel({ grant: { role_name, environment_id, project_id } }: { grant: Grant }) {
  const environment = useEnvironment(environment_id).data
  const project = useProject(project_id).data
  if (environment) return `${role_name} in ${environment.project.name} / ${environment.name}`
  if (environment_id !== null) return `${role_name} in environment ${environment_id}`
  if (project_id !== null) return `${role_name} in ${project?.name ?? `project ${project_id}`}`
  return role_name
}
