// Projects and their environments.
import { Badge, Group, Paper, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { FolderTree, Pencil, Plus } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { useApi } from '#web/base/api/queries.ts'
import type { Environment, Project } from '#web/base/api/types.ts'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { GuardedMenuItem, MoreMenu, RemoveMenuItem } from '#web/base/ui/menus.tsx'
import { EmptyState, Loaded } from '#web/base/ui/page.tsx'
import { Section } from '#web/base/ui/parts.tsx'
import { RemoveDialog } from '#web/base/ui/remove-dialog.tsx'
import { RowTable } from '#web/base/ui/table.tsx'
import { CopyAs } from '#web/shared/copy-as/copy-as.tsx'
import { scopeSearch, useSearch } from '#web/shared/scope/scope.ts'
import { projectsQuery, useEnvironments } from '#web/shared/scope/tree.ts'
import { AddEnvironmentDialog } from './environment-dialog.tsx'
import { EnvironmentMenu } from './environment-menu.tsx'
import { EditProjectDialog } from './project-dialog.tsx'
import { useTreeChanged } from './tree-changed.ts'

type ProjectTreeProps = { organizationId: number; addProject(): void }

export function ProjectTree({ organizationId, addProject }: ProjectTreeProps) {
  const query = useQuery(projectsQuery(useApi(), organizationId))
  return (
    <Section id="projects" title="Projects and environments">
      <Loaded query={query} what="projects">
        {(projects) =>
          projects.length === 0 ? (
            <EmptyState
              icon={FolderTree}
              title="No projects yet"
              action={
                <GuardedButton
                  variant="default"
                  permission="project:add"
                  scope={{ organization: organizationId }}
                  onClick={addProject}
                >
                  Add project
                </GuardedButton>
              }
            >
              A project holds environments, such as staging and production, with their servers and
              applications.
            </EmptyState>
          ) : (
            <ul className="plain-list project-tree">
              {projects.map((project) => (
                <ProjectItem key={project.id} project={project} organizationId={organizationId} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Section>
  )
}

type ProjectItemProps = { project: Project; organizationId: number }

function ProjectItem({ project, organizationId }: ProjectItemProps) {
  const changed = useTreeChanged()
  const { id, name } = project
  const [search, update] = useSearch()
  const isAsked = search.get('add') === `environment:${id}`
  const [opened, setOpen] = useState<'edit' | 'remove' | 'environment'>()
  const open = opened ?? (isAsked ? 'environment' : undefined)
  const close = () => {
    setOpen(undefined)
    if (isAsked) update({ add: undefined }, true)
  }
  const scope = { organization: organizationId, project: id }
  return (
    <Paper component="li" withBorder p="md" aria-label={name}>
      <Group justify="space-between" gap="xs" mb="sm">
        <Title order={3} size="h5" className="wrap">
          {name}
        </Title>
        <Group gap="xs">
          <GuardedButton
            size="xs"
            variant="default"
            permission="environment:add"
            scope={scope}
            icon={Plus}
            onClick={() => setOpen('environment')}
          >
            Add environment
          </GuardedButton>
          <CopyAs isCompact resource={{ type: 'project', id, name, organizationId }} />
          <MoreMenu label={`Actions for project ${name}`} isSmall>
            <GuardedMenuItem
              permission="project:edit"
              scope={scope}
              icon={Pencil}
              onClick={() => setOpen('edit')}
            >
              Edit
            </GuardedMenuItem>
            <RemoveMenuItem permission="project:remove" scope={scope} onClick={() => setOpen('remove')} />
          </MoreMenu>
        </Group>
      </Group>
      <Environments project={project} scope={scope} />
      {open === 'edit' && <EditProjectDialog project={project} close={close} />}
      {open === 'environment' && <AddEnvironmentDialog project={project} close={close} />}
      {open === 'remove' && (
        <RemoveDialog what="project" name={name} id={id} onRemoved={() => void changed()} close={close}>
          Past runs remain. This cannot be undone.
        </RemoveDialog>
      )}
    </Paper>
  )
}

type EnvironmentsProps = { project: Project; scope: { organization: number; project: number } }

function Environments({ project, scope }: EnvironmentsProps) {
  return (
    <Loaded query={useEnvironments(project.id)} what="environments">
      {(environments) => (
        <RowTable
          label={`Environments of ${project.name}`}
          rows={environments}
          columns={[
            ['Environment', 'wrap name-cell', (one) => <EnvironmentName environment={one} scope={scope} />],
            ['Stage', 'dimmed', ({ type_human_readable }) => type_human_readable],
            ['Contents', 'dimmed', contentsOf],
            [
              '',
              'end-cell',
              (one) => (
                <Group gap={4} justify="flex-end" wrap="nowrap">
                  <EnvironmentMenu environment={one} scope={scope} />
                </Group>
              ),
            ],
          ]}
          empty={<span className="dimmed">No environments yet. Add one, such as staging or production.</span>}
        />
      )}
    </Loaded>
  )
}

type EnvironmentNameProps = { environment: Environment; scope: EnvironmentsProps['scope'] }

function EnvironmentName({ environment, scope }: EnvironmentNameProps) {
  const { id, name, archived_at, description } = environment
  return (
    <>
      <Group gap="xs">
        <Link href={`/applications${scopeSearch({ ...scope, environment: id })}`}>{name}</Link>
        {archived_at && (
          <Badge variant="default" size="sm">
            Archived
          </Badge>
        )}
      </Group>
      {description && <div className="dimmed">{description}</div>}
    </>
  )
}

/** `2 applications, 1 server`. */
function contentsOf({ resource_summary }: Environment): string {
  const parts = resource_summary.flatMap(
    ({ resource_type: one, resource_type_plural: many, summary: { count } }) =>
      count === 0 ? [] : [`${count} ${count === 1 ? one : many}`],
  )
  return parts.join(', ') || 'Empty'
}
