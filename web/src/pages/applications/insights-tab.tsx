import { Section } from '#web/base/ui/parts.tsx'
import { InsightsView } from '#web/resources/insights/insights-view.tsx'

export function InsightsTab({ applicationId }: { applicationId: number }) {
  return (
    <Section id="insights" title="Insights">
      <InsightsView type="application" id={applicationId} />
    </Section>
  )
}
