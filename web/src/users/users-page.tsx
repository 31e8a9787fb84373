import { PageHeader } from '../ui/page.tsx'

export default function UsersPage() {
  return <PageHeader title="Users" />
}
