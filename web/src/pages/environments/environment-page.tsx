// One environment as pictures: what is live where, what runs and waits, what runs after what, and how well it is deployed.
import { Button } from '@mantine/core'
import { Link } from 'wouter'
import { queryKeys, useAll } from '#web/base/api/queries.ts'
import { environmentScope } from '#web/base/session/permissions.ts'
import { Loaded, PageHeader } from '#web/base/ui/page.tsx'
import { Section } from '#web/base/ui/parts.tsx'
import { Together } from '#web/base/ui/together.tsx'
import { InsightsView } from '#web/resources/insights/insights-view.tsx'
import { scopeSearch } from '#web/shared/scope/scope.ts'
import { ScopeBreadcrumbs } from '#web/shared/scope/scope-breadcrumbs.tsx'
import { useEnvironment } from '#web/shared/scope/tree.ts'
import { GatesSection } from './gates-section.tsx'
import { LiveMatrix } from './live-matrix.tsx'
import { PipelineChain } from './pipeline-chain.tsx'
import { SlotsTable } from './slots-table.tsx'

export default function EnvironmentPage({ id }: { id: string }) {
  return (
    <Loaded query={useEnvironment(Number(id))} what="environment">
      {(environment) => (
        <Together what="environment">
          <ScopeBreadcrumbs page="/applications" environment={environment} />
          <PageHeader title={`${environment.project.name} / ${environment.name}`}>
            <Button
              component={Link}
              variant="default"
              href={`/overview${scopeSearch(environmentScope(environment))}`}
            >
              Applications
            </Button>
          </PageHeader>
          <Section id="live" title="What is live where">
            <LiveMatrix environmentId={environment.id} />
          </Section>
          <GatesSection environment={environment} />
          <Section id="insights" title="Insights">
            <InsightsView type="environment" id={environment.id} />
          </Section>
          <Pipelines environmentId={environment.id} />
        </Together>
      )}
    </Loaded>
  )
}

function Pipelines({ environmentId }: { environmentId: number }) {
  const query = useAll(queryKeys.environmentPipelines(environmentId, 'all'), '/environments/{id}/pipelines', {
    params: { path: { id: environmentId } },
  })
  return (
    <>
      <Section id="slots" title="Slots and queues">
        <Loaded query={query} what="pipelines">
          {(pipelines) => <SlotsTable environmentId={environmentId} pipelines={pipelines} />}
        </Loaded>
      </Section>
      <Section id="chain" title="Chain of pipelines">
        <Loaded query={query} what="pipelines">
          {(pipelines) => <PipelineChain pipelines={pipelines} />}
        </Loaded>
      </Section>
    </>
  )
}
