// One application: what is live and what can be done about it; its settings, variables, hooks and insights have their own URLs.
import { Pencil } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { useLocation } from 'wouter'
import { queryKeys } from '#web/base/api/queries.ts'
import { useVersioned } from '#web/base/form/versioned.ts'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { MoreMenu, RemoveMenuItem } from '#web/base/ui/menus.tsx'
import { Loaded, Loading, NotFound } from '#web/base/ui/page.tsx'
import { RemoveDialog } from '#web/base/ui/remove-dialog.tsx'
import { TabLinks } from '#web/base/ui/tab-links.tsx'
import { Together } from '#web/base/ui/together.tsx'
import { VariablesSection } from '#web/pages/applications/variables/variables-section.tsx'
import type { ApplicationRecord } from '#web/resources/applications/application-input.ts'
import { HealthBadge } from '#web/resources/applications/health-badge.tsx'
import { useCard } from '#web/resources/applications/use-card.ts'
import { ResourcePipelines } from '#web/resources/pipelines/resource-pipelines.tsx'
import { DeployButtons } from '#web/resources/runs/deploy-buttons.tsx'
import { useInventoryChanged } from '#web/resources/servers/servers.ts'
import { ResourceHeader } from '#web/shared/resource-header.tsx'
import { scopeSearch } from '#web/shared/scope/scope.ts'
import { useResourceScope } from '#web/shared/scope/tree.ts'
import { Commits } from './commit-line.tsx'
import { EditApplicationDialog } from './edit-application-dialog.tsx'
import { HooksTab } from './hooks-tab.tsx'
import { LiveSummary } from './live-summary.tsx'
import { ServerReleases } from './server-releases.tsx'
import { SettingsTab } from './settings-tab.tsx'

const InsightsTab = lazy(async () => ({ default: (await import('./insights-tab.tsx')).InsightsTab }))

const TABS = {
  '': 'Releases',
  insights: 'Insights',
  variables: 'Variables',
  hooks: 'Hooks',
  settings: 'Settings',
}
type Tab = keyof typeof TABS

const isTab = (text: string): text is Tab => Object.hasOwn(TABS, text)

export default function ApplicationPage({ id, tab = '' }: { id: string; tab?: string | undefined }) {
  const params = { path: { id: Number(id) } }
  const query = useVersioned(queryKeys.application(id), '/applications/{id}', { params })
  const card = useCard(Number(id))
  if (!isTab(tab)) return <NotFound what="page" />
  return (
    <Loaded query={query} what="application">
      {({ record, version }) => (
        <Together what="application">
          <ApplicationDetails application={record} version={version} card={card} tab={tab} />
        </Together>
      )}
    </Loaded>
  )
}

type ApplicationDetailsProps = {
  application: ApplicationRecord
  version: string | null
  card: ReturnType<typeof useCard>
  tab: Tab
}

function ApplicationDetails({ application, version, card: cardQuery, tab }: ApplicationDetailsProps) {
  const { id, name } = application
  const changed = useInventoryChanged()
  const [, navigate] = useLocation()
  const [open, setOpen] = useState<'edit' | 'remove'>()
  const { environment, scope } = useResourceScope(application)
  const card = cardQuery.data
  const organization = scope?.organization
  return (
    <>
      <ResourceHeader
        type="application"
        record={application}
        environment={environment}
        badge={card && card.live.length > 0 && <HealthBadge health={card.health} />}
      >
        {tab === 'settings' && (
          <GuardedButton
            variant="default"
            permission="application:edit"
            scope={scope}
            icon={Pencil}
            onClick={() => setOpen('edit')}
          >
            Edit
          </GuardedButton>
        )}
        {card && (
          <DeployButtons
            application={name}
            pipelineId={card.deploy_pipeline?.id ?? null}
            isLive={card.live.length > 0 || card.servers.unknown > 0}
            scope={scope}
          />
        )}
        <MoreMenu>
          <RemoveMenuItem permission="application:remove" scope={scope} onClick={() => setOpen('remove')} />
        </MoreMenu>
      </ResourceHeader>
      <TabLinks
        label={`Pages about ${name}`}
        tabs={Object.entries(TABS).map(([one, text]) => ({
          href: `/applications/${id}${one && `/${one}`}`,
          text,
          isCurrent: one === tab,
        }))}
      />
      <TabContent application={application} card={cardQuery} tab={tab} scope={scope} />
      {open === 'edit' && organization && (
        <EditApplicationDialog
          application={application}
          version={version}
          organizationId={organization}
          close={() => setOpen(undefined)}
        />
      )}
      {open === 'remove' && (
        <RemoveDialog
          what="application"
          name={name}
          id={id}
          onRemoved={() => {
            void changed()
            navigate(`/applications${scopeSearch(scope)}`)
          }}
          close={() => setOpen(undefined)}
        >
          Its variables are deleted. Past runs, and files on servers, remain.
        </RemoveDialog>
      )}
    </>
  )
}

type TabContentProps = Omit<ApplicationDetailsProps, 'version'> & {
  scope: PermissionScope | undefined
}

function TabContent({ application, card, tab, scope }: TabContentProps) {
  const { id } = application
  switch (tab) {
    case '':
      return (
        <>
          <Loaded query={card} what="live release">
            {(known) => known && <LiveSummary application={application} card={known} />}
          </Loaded>
          <ServerReleases applicationId={id} scope={scope} />
          <Commits applicationId={id} scope={scope} />
          <ResourcePipelines
            type="application"
            id={id}
            environmentId={application.environment_id}
            scope={scope}
          />
        </>
      )
    case 'insights':
      return (
        <Suspense fallback={<Loading what="insights" />}>
          <InsightsTab applicationId={id} />
        </Suspense>
      )
    case 'variables':
      return <VariablesSection applicationId={id} scope={scope} />
    case 'hooks':
      return <HooksTab applicationId={id} />
    case 'settings':
      return <SettingsTab application={application} scope={scope} />
  }
}
