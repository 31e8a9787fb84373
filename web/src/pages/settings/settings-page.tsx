// The organization, its projects and their environments.
import { Button, Group } from '@mantine/core'
import { Building2, FileCode, Plus } from 'lucide-react'
import { useState } from 'react'
import { useSession } from '#web/base/session/session.ts'
import { GuardedButton, ReasonedButton } from '#web/base/ui/controls.tsx'
import { PageHeader } from '#web/base/ui/page.tsx'
import { NoOrganization } from '#web/shared/scope/each-environment.tsx'
import { useOrganizationId } from '#web/shared/scope/tree.ts'
import { ApplyDialog } from './apply-dialog.tsx'
import { AddOrganizationDialog, OrganizationSection } from './organization-section.tsx'
import { ProjectDialog } from './project-dialog.tsx'
import { ProjectTree } from './project-tree.tsx'

const NOT_ADMIN = 'Only instance administrators create organizations.'

export default function SettingsPage() {
  const id = useOrganizationId()
  const { isInstanceAdmin } = useSession()
  const [adding, setAdding] = useState<'organization' | 'project' | 'document'>()
  const close = () => setAdding(undefined)
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
        <NoOrganization />
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
