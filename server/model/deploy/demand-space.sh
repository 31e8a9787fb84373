source ./free-space.sh

demand_space
