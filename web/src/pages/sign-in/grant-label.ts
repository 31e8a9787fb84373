type NamedGrant = { role_name: string; project_name: string | null; environment_name: string | null }

/** Pure: "developer in Web shop / Production". */
export function grantLabel({ role_name, project_name, environment_name }: NamedGrant): string {
  const scope = [project_name, environment_name].filter((name) => name !== null).join(' / ')
  return scope === '' ? `${role_name} in the whole organization` : `${role_name} in ${scope}`
}
