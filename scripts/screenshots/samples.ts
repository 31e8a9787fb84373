// Commands, payloads and values of the installation in the pictures.

/** A step that fails the deployment. */
export const MIGRATE = String.raw`printf 'applying \033[1m0041_add_orders_region\033[0m … \033[32mok\033[0m\n'
sleep 0.3
printf 'applying \033[1m0042_orders_region_not_null\033[0m …\n'
sleep 0.4
printf '\033[1;31mERROR: column "region" of relation "orders" contains null values\033[0m\n'
printf '\033[33mrolled back 0042; 0041 stays applied\033[0m\n'
exit 3`

/** A step that runs for as long as pictures are taken. */
export const REINDEX = `echo 'products: 48,210 documents'
echo 'orders: 1,204,377 documents'
sleep 900`

export const PUSH = {
  ref: 'refs/heads/main',
  after: '9f2c41d7e0b85a36c1f4d2e97a60b3c85d1e7f42',
  repository: { name: 'shop', full_name: 'acme/shop', private: true },
  pusher: { name: 'developer', email: 'developer@acme.example' },
}

/** Its version is not where the hook looks for it. */
export const RELEASE = {
  action: 'published',
  release: {
    tag_name: 'v2.14.0',
    name: 'Faster checkout',
    draft: false,
    prerelease: false,
    target_commitish: 'main',
  },
  repository: { name: 'shop', full_name: 'acme/shop', private: true, default_branch: 'main' },
  sender: { login: 'developer', type: 'User' },
}

export const VARIABLES = [
  { name: 'DATABASE_URL', value: 'postgres://shop:secret@db-1/shop', hidden: true },
  { name: 'LOG_LEVEL', value: 'info' },
  { name: 'NODE_ENV', value: 'production' },
  { name: 'PAYMENT_KEY', value: 'pk_live_0000', hidden: true },
]
