// One environment: how often and how well everything in it is deployed.
import { Button } from '@mantine/core'
import { Link } from 'wouter'
import { environmentScope } from '#web/base/session/permissions.ts'
import { Loaded, PageHeader } from '#web/base/ui/page.tsx'
import { Section } from '#web/base/ui/parts.tsx'
import { InsightsView } from '#web/resources/insights/insights-view.tsx'
import { scopeSearch } from '#web/shared/scope/scope.ts'
import { ScopeBreadcrumbs } from '#web/shared/scope/scope-breadcrumbs.tsx'
import { useEnvironment } from '#web/shared/scope/tree.ts'

export default function EnvironmentPage({ id }: { id: string }) {
  return (
    <Loaded query={useEnvironment(Number(id))} what="environment">
      {(environment) => (
        <>
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
          <Section id="insights" title="Insights">
            <InsightsView type="environment" id={environment.id} />
          </Section>
        </>
      )}
    </Loaded>
  )
}
