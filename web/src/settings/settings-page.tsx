import { PageHeader } from '../ui/page.tsx'

export default function SettingsPage() {
  return <PageHeader title="Settings" />
}
