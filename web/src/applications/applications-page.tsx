import { PageHeader } from '../ui/page.tsx'

export default function ApplicationsPage() {
  return <PageHeader title="Applications" />
}
