// The organization, its projects and their environments.
import { Button, Group } from '@mantine/core'
import { Building2, FileCode, Plus } from 'lucide-react'
import { useState } from 'react'
import { useSession } from '#web/base/session/session.ts'
import { GuardedButton, ReasonedButton } from '#web/base/ui/controls.tsx'
import { PageHeader } from '#web/base/ui/page.tsx'
import { useSearch } from '#web/shared/scope/scope.ts'
import { StartHere } from '#web/shared/scope/start-here.tsx'
import { useOrganizationId } from '#web/shared/scope/tree.ts'
import { ApplyDialog } from './apply-dialog.tsx'
import { AddOrganizationDialog, OrganizationSection } from './organization-section.tsx'
import { ProjectDialog } from './project-dialog.tsx'
import { ProjectTree } from './project-tree.tsx'

const NOT_ADMIN = 'Only instance administrators create organizations.'

/** `?add=organization` opens the dialog, `?add=environment:12` that of an environment of this project. */
export default function SettingsPage() {
  const id = useOrganizationId()
  const { isInstanceAdmin } = useSession()
  const [search, update] = useSearch()
  const [opened, setAdding] = useState<'organization' | 'project' | 'document'>()
  const adding =
    opened ?? (isInstanceAdmin && search.get('add') === 'organization' ? 'organization' : undefined)
  const close = () => {
    setAdding(undefined)
    if (search.has('add')) update({ add: undefined }, true)
  }
  return (
    <>
      <PageHeader title="Settings">
        <Group gap="xs">
          <Button
            variant="default"
            className="icon-when-narrow"
            leftSection={<FileCode size={16} strokeWidth={1.75} aria-hidden="true" />}
            onClick={() => setAdding('document')}
          >
            Apply gantry.yaml
          </Button>
          <ReasonedButton
            variant="default"
            className="icon-when-narrow"
            reason={isInstanceAdmin ? undefined : NOT_ADMIN}
            icon={Building2}
            onClick={() => setAdding('organization')}
          >
            Add organization
          </ReasonedButton>
          {id !== undefined && (
            <GuardedButton
              permission="project:add"
              scope={{ organization: id }}
              icon={Plus}
              onClick={() => setAdding('project')}
            >
              Add project
            </GuardedButton>
          )}
        </Group>
      </PageHeader>
      {id === undefined ? (
        <StartHere
          icon={Building2}
          title="No organization yet"
          text="An organization holds people, credentials and projects."
          needs="organization"
        />
      ) : (
        <>
          <OrganizationSection key={id} id={id} />
          <ProjectTree organizationId={id} addProject={() => setAdding('project')} />
        </>
      )}
      {adding === 'document' && <ApplyDialog close={close} />}
      {adding === 'organization' && <AddOrganizationDialog close={close} />}
      {adding === 'project' && id !== undefined && <ProjectDialog organizationId={id} close={close} />}
    </>
  )
}
