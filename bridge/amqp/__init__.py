"""The AMQP edge: proton driven sans socket from asyncio. The only folder that touches proton."""
